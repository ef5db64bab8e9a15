package riftrelay_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
	"riftrelay/route"
)

// A call with a player's id has to wait for the key that gave it (R17), however
// much room another has: the path tells, the route doesn't.
func TestEstimateOfAPlayersID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{CheckIDs: true, Body: riotsim.Plausible, AppLimits: []riotsim.Rule{{Limit: "5:60"}}}, twoKeys())
		const by = "/lol/summoner/v4/summoners/by-puuid/"
		transport := s.client.Transport.(*riftrelay.Transport)
		r := routeTo(t, byPUUID)
		estimate := func(id string) time.Duration {
			t.Helper()
			wait, _, err := transport.Estimate(r, by+id, 1, riftrelay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return wait
		}
		ids := idsOf(t, canaryA, canaryB)
		for range 5 { // all that spare has
			if got := s.statusOf(t, t.Context(), "https://euw1.api.riotgames.com"+by+ids[1]); got != "200" {
				t.Fatal(got)
			}
		}
		if wait, _, err := s.limiter.Estimate(r, 1, riftrelay.Options{}); err != nil || wait != 0 {
			t.Errorf("any key: %v, %v, want at once: main has room", wait, err)
		}
		if wait := estimate(ids[1]); wait < 50*time.Second {
			t.Errorf("spare's id: %v, want until spare has room", wait)
		}
		if wait := estimate(ids[0]); wait != 0 {
			t.Errorf("an id not seen yet, which goes on the first key: %v", wait)
		}
		mustDo(t, s.limiter.DisableKey, "spare")
		if _, _, err := transport.Estimate(r, by+ids[1], 1, riftrelay.Options{}); !errors.Is(err, riftrelay.ErrNoKey) {
			t.Errorf("spare's id without spare: %v", err)
		}
		if _, _, err := transport.Estimate(route.Route{}, by, 1, riftrelay.Options{}); !errors.Is(err, riftrelay.ErrUnknownRoute) {
			t.Errorf("no route: %v", err)
		}
	})
}

// A path that the table doesn't list belongs to a group all the same.
func TestEstimateOfAnUnlistedPath(t *testing.T) {
	open, err := route.New(route.Options{ForwardUnknownPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := riftrelay.New(riftrelay.Config{
		Table: open, Keys: []riftrelay.Key{{Name: "main", Value: canaryA}, {Name: "tft", Value: canaryB}},
		Groups: []riftrelay.Group{{Name: "tft", Paths: []string{"/tft/"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mustDo(t, l.DisableKey, "tft")
	transport := &riftrelay.Transport{Limiter: l}
	for path, want := range map[string]error{"/tft/news/v9/all": riftrelay.ErrNoKey, "/lol/news/v9/all": nil} {
		r, err := open.Match(http.MethodGet, "euw1", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := transport.Estimate(r, path, 1, riftrelay.Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}
