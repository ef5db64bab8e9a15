package proxy

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// A 429 of the relay's has the limits of one key that are known, in Riot's form; other answers have none.
func TestRateHeadersOfRefusals(t *testing.T) {
	rt, err := table(t).Match("GET", "euw1", status[len("/euw1"):])
	if err != nil {
		t.Fatal(err)
	}
	app := []riftrelay.WindowState{{Limit: 20, Window: time.Second, Used: 2}, {Limit: 100, Window: 2 * time.Minute, Used: 7}}
	method := []riftrelay.WindowState{{Limit: 9, Window: 10 * time.Second, Used: 11}}
	both := map[string]string{
		"X-App-Rate-Limit": "100:120,20:1", "X-App-Rate-Limit-Count": "7:120,2:1", "X-Method-Rate-Limit": "9:10", "X-Method-Rate-Limit-Count": "11:10",
	}
	known := []riftrelay.ScopeState{
		{Key: "new", Host: "euw1", Windows: []riftrelay.WindowState{{Limit: 1, Window: time.Second}}}, // assumed
		{Key: "a", Host: "euw1", Known: true, Windows: app},
		{Key: "b", Host: "euw1", Known: true, Windows: []riftrelay.WindowState{{Limit: 5, Window: time.Second}}},
		{Key: "b", Host: "euw1", Method: "m", Known: true, Windows: []riftrelay.WindowState{{Limit: 6, Window: time.Second}}},
		{Key: "a", Host: "euw1", Method: "m", Known: true, Windows: method},
	}
	for name, tt := range map[string]struct {
		reason riftrelay.Reason
		scopes []riftrelay.ScopeState
		strip  bool
		want   map[string]string
	}{
		"queue full":       {riftrelay.ReasonQueueFull, known, false, both},
		"deadline":         {riftrelay.ReasonDeadline, known, false, both},
		"stripped":         {riftrelay.ReasonQueueFull, known, true, nil},
		"no key":           {riftrelay.ReasonNoKey, known, false, nil},
		"nothing known":    {riftrelay.ReasonQueueFull, known[:1], false, nil},
		"no limits at all": {riftrelay.ReasonQueueFull, []riftrelay.ScopeState{{Key: "a", Known: true}}, false, nil},
		"calls of RSO": {riftrelay.ReasonQueueFull, []riftrelay.ScopeState{{Method: "m", Known: true, Windows: method}}, false,
			map[string]string{"X-Method-Rate-Limit": "9:10", "X-Method-Rate-Limit-Count": "11:10"}},
	} {
		refuses := roundTrip(func(*http.Request) (*http.Response, error) {
			return nil, &riftrelay.RejectedError{Reason: tt.reason, Route: rt}
		})
		asked := func(r route.Route) []riftrelay.ScopeState {
			if r != rt {
				t.Errorf("%s: asked for the limits of %v", name, r)
			}
			return tt.scopes
		}
		res, body := parse(t, sendRaw(t, serve(t, Options{Transport: refuses, Limits: asked, StripRateHeaders: tt.strip}), get(status)))
		got := map[string]string{}
		for h := range res.Header {
			if strings.HasPrefix(h, "X-App-") || strings.HasPrefix(h, "X-Method-") {
				got[h] = res.Header.Get(h)
			}
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %s %s: the headers are %v, want %v", name, res.Status, body, got, tt.want)
		}
	}
}
