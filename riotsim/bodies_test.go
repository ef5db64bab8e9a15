package riotsim

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestBodies(t *testing.T) {
	cfg := Config{CheckIDs: true, Keys: map[string]string{"k": NoLimit, "j": NoLimit}}
	overBoth(t, cfg, func(t *testing.T, e *Edge, c *http.Client) {
		fetch := func(url string, into any) int {
			t.Helper()
			code, _, body, err := get(t, c, request(t, t.Context(), url))
			if err != nil || json.Unmarshal([]byte(body), into) != nil {
				t.Errorf("%s: %d %v, not JSON: %.200q", url, code, err, body)
			}
			_, _, again, _ := get(t, c, request(t, t.Context(), url))
			if again != body {
				t.Errorf("%s: the second answer differs", url)
			}
			return len(body)
		}
		const europe = "http://europe.api.riotgames.com"
		var player struct{ PUUID, GameName string }
		fetch(europe+"/riot/account/v1/accounts/by-riot-id/Some%20One/EUW", &player)
		if len(player.PUUID) != 78 || player.GameName != "Some One" {
			t.Errorf("account %+v", player)
		}
		var ids []string
		for query, want := range map[string]int{"": 20, "?count=100": 100, "?start=150&count=100": 50, "?count=0": 0, "?start=500": 0} {
			if fetch(europe+"/lol/match/v5/matches/by-puuid/"+player.PUUID+"/ids"+query, &ids); len(ids) != want {
				t.Errorf("match ids %s: %d, want %d", query, len(ids), want)
			}
		}
		fetch(europe+"/lol/match/v5/matches/by-puuid/"+player.PUUID+"/ids?start=3&count=2", &ids)
		var m struct {
			Metadata struct {
				MatchID      string
				Participants []string
			}
			Info struct{ Participants, Frames []any }
		}
		if n := fetch(europe+"/lol/match/v5/matches/"+ids[0], &m); n < 30_000 || n > 33_000 || m.Metadata.MatchID != ids[0] || len(m.Metadata.Participants) != 10 {
			t.Errorf("match of %d bytes: %+v", n, m.Metadata)
		}
		if n := fetch(europe+"/lol/match/v5/matches/"+ids[0]+"/timeline", &m); n < 200_000 || len(m.Info.Frames) == 0 {
			t.Errorf("timeline of %d bytes", n)
		}
		var object map[string]any
		var list []map[string]any
		fetch(euw+"/lol/summoner/v4/summoners/by-puuid/"+player.PUUID, &object)
		fetch(euw+"/lol/spectator/v5/active-games/by-summoner/"+player.PUUID, &object)
		fetch(euw+"/lol/league/v4/entries/by-puuid/"+player.PUUID, &list)
		fetch(euw+"/lol/league/v4/entries/RANKED_SOLO_5x5/GOLD/I", &list)
		fetch("http://americas.api.riotgames.com/lol/tournament/v5/codes/EUW1", &object)
		fetch(euw+status, &object)

		for url, want := range map[string]string{
			europe + "/lol/match/v5/matches/missing-1":                              `404 {"status":{"message":"Data not found","status_code":404}}`,
			europe + "/lol/match/v5/matches/by-puuid/abc/ids?count=101":             `400 {"status":{"message":"Bad Request - count must be 0 to 100 and start at least 0","status_code":400}}`,
			euw + "/lol/summoner/v4/summoners/by-puuid/" + puuid("j", "somebody#x"): `400 {"status":{"message":"Bad Request - Exception decrypting ` + puuid("j", "somebody#x") + `","status_code":400}}`,
		} {
			code, h, body, _ := get(t, c, request(t, t.Context(), url))
			if got := fmt.Sprint(code, " ", body); got != want || h.Get("X-Method-Rate-Limit-Count") == "" {
				t.Errorf("%s: %s, want %s and counted", url, got, want)
			}
		}
	})
	overBoth(t, Config{Body: Tiny}, func(t *testing.T, _ *Edge, c *http.Client) {
		if _, _, body, _ := get(t, c, request(t, t.Context(), euw+status)); body != "{}" {
			t.Errorf("tiny: %q", body)
		}
	})
}

func TestR15GzipAndOddHeaders(t *testing.T) {
	overBoth(t, Config{Gzip: true, Noise: true}, func(t *testing.T, _ *Edge, c *http.Client) {
		_, h, body, err := get(t, c, request(t, t.Context(), euw+status, "Accept-Encoding", "gzip"))
		if err != nil || h.Get("Content-Encoding") != "gzip" || len(h["Date"]) != 2 || len(h["Access-Control-Allow-Origin"]) != 2 || h.Get("X-Riot-Edge-Trace-Id") == "" {
			t.Errorf("%v %v", h, err)
		}
		z, err := gzip.NewReader(bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(z); err != nil || string(plain) != "{}" {
			t.Errorf("%q %v", plain, err)
		}
		if _, h, body, _ := get(t, c, request(t, t.Context(), euw+status)); h.Get("Content-Encoding") != "" || body != "{}" {
			t.Errorf("gzip that nobody asked for: %v %q", h, body)
		}
	})
}

func TestRequestsAreKeptAsTheyCame(t *testing.T) {
	overBoth(t, Config{Requests: 2}, func(t *testing.T, e *Edge, c *http.Client) {
		get(t, c, request(t, t.Context(), euw+status))
		path := "/riot/account/v1/accounts/by-riot-id/%E3%81%82%20a%2Fb%23+;x/EU%25W"
		if code, _, body, _ := get(t, c, request(t, t.Context(), "http://europe.api.riotgames.com"+path+"?a=%41&b=+", "Cookie", "c=1")); code != 200 || !strings.Contains(body, `"gameName":"あ a/b#+;x","tagLine":"EU%W"`) {
			t.Errorf("riot id: %d %s", code, body)
		}
		req := request(t, t.Context(), "http://americas.api.riotgames.com/lol/tournament/v5/codes?tournamentId=1")
		req.Method, req.Body = http.MethodPost, io.NopCloser(strings.NewReader(strings.Repeat("x", 70<<10)))
		if code, _, body, err := get(t, c, req); code != 200 || !strings.HasPrefix(body, `["EUW04`) {
			t.Errorf("codes: %d %s %v", code, body, err)
		}
		got := e.Requests()
		if len(got) != 2 {
			t.Fatalf("%d requests kept, want the last 2", len(got))
		}
		if got[0].URI != path+"?a=%41&b=+" || got[0].Host != "europe.api.riotgames.com" || got[0].Header.Get("Cookie") != "c=1" || got[0].Header.Get("X-Riot-Token") != "k" {
			t.Errorf("first: %+v", got[0])
		}
		if got[1].Method != "POST" || len(got[1].Body) != 64<<10 || got[1].Length != 70<<10 {
			t.Errorf("second: %s, %d of %d bytes", got[1].Method, len(got[1].Body), got[1].Length)
		}
	})
}
