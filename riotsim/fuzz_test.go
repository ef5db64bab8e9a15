package riotsim

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What is read as a limit is in order, makes sense, and reads back as the same.
func FuzzParseLimits(f *testing.F) {
	for _, seed := range []string{"20:1,100:120", "100:120, 20:1", NoLimit, "", "1:1000000000", "20:1,30:1", "+1:1", "９:1", "1:-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limits, err := parseLimits(text)
		if err != nil {
			if limits != nil {
				t.Fatalf("%q: %v and %v", text, limits, err)
			}
			return
		}
		if len(limits) == 0 {
			if text != NoLimit {
				t.Fatalf("%q is read as no limit", text)
			}
			return
		}
		var wire []string
		for i, l := range limits {
			if l.N < 1 || l.Per < time.Second || l.Per%time.Second != 0 || i > 0 && l.Per <= limits[i-1].Per {
				t.Fatalf("%q: %v", text, limits)
			}
			wire = append(wire, l.String())
		}
		again, err := parseLimits(strings.Join(wire, ","))
		if err != nil || len(again) != len(limits) {
			t.Fatalf("%q: %q reads as %v, %v", text, wire, again, err)
		}
		for i := range again {
			if again[i] != limits[i] {
				t.Fatalf("%q: %q reads as %v", text, wire, again)
			}
		}
	})
}

// Whatever a request asks for, it gets one answer and is counted as one arrival.
func FuzzRequest(f *testing.F) {
	for _, uri := range []string{
		"/euw1" + status, status, "*", "", "?", "http://euw1.api.riotgames.com" + status, "/europe/lol/match/v5/matches/by-puuid/%zz/ids?count=x",
		"/europe/riot/account/v1/accounts/by-riot-id/a%2Fb/c?api_key=k", "//", "/euw1//", "http:", "/americas/lol/tournament/v5/codes?count=0",
	} {
		f.Add("GET", "euw1.api.riotgames.com", uri, "k")
		f.Add("POST", "127.0.0.1:80", uri, "")
	}
	f.Fuzz(func(t *testing.T, verb, host, uri, key string) {
		e := newEdge(t, Config{CheckIDs: true, Arrivals: -1})
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Method, r.Host, r.RequestURI = verb, host, uri
		r.Header.Set("X-Riot-Token", key)
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if got := e.Report(); got.Arrived != 1 || got.Statuses[w.Code] != 1 || len(e.Arrivals()) != 1 {
			t.Fatalf("answered %d: %+v", w.Code, got.Totals)
		}
	})
}
