package riftrelay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/internal/handoff"
	"riftrelay/riotsim"
	"riftrelay/route"
)

// The tests of this file are about keys that die, return, are replaced, and
// belong to groups.

const (
	canaryA = "RGAPI-" + "CANARY-a"
	canaryB = "RGAPI-" + "CANARY-b"
	canaryC = "RGAPI-" + "CANARY-c"
)

func twoKeys() []riftrelay.Key {
	return []riftrelay.Key{{Name: "main", Value: canaryA}, {Name: "spare", Value: canaryB}}
}

// byKey counts what arrived, by key.
func (s *simulated) byKey() map[string]int {
	got := map[string]int{}
	for _, r := range s.edge.Requests() {
		got[r.Header.Get("X-Riot-Token")]++
	}
	return got
}

// statusOf calls and returns Riot's status, or the reason of the rejection.
func (s *simulated) statusOf(t *testing.T, ctx context.Context, url string) string {
	t.Helper()
	resp, _, err := call(ctx, s.client, http.MethodGet, url, "")
	var rejected *riftrelay.RejectedError
	if errors.As(err, &rejected) {
		return string(rejected.Reason)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode)
}

// account is an API on a host that byPUUID and mastery have nothing to do with:
// a key that is refused on both is suspect.
const account = "https://europe.api.riotgames.com/riot/account/v1/accounts/by-riot-id/a/b"

func keyed(t *testing.T, cfg riotsim.Config, keys []riftrelay.Key, groups ...riftrelay.Group) *simulated {
	cfg.Requests = -1
	if cfg.AppLimits == nil {
		cfg.AppLimits = []riotsim.Rule{{Limit: riotsim.Large}}
	}
	return simulate(t, cfg, riftrelay.Config{Keys: keys, Groups: groups, Pacing: riftrelay.PacingBurst})
}

func TestHardeningKeysOneOfTwoIsDead(t *testing.T) {
	for _, refusal := range []int{401, 400, 403} {
		t.Run(fmt.Sprint(refusal), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := keyed(t, riotsim.Config{}, twoKeys())
				urls := []string{byPUUID, account}
				s.edge.SetKey(canaryA, refusal)
				for i := range 2000 { // 100 s
					if got := s.statusOf(t, t.Context(), urls[i%2]); got != "200" {
						t.Fatalf("call %d: %s, want every call served by the other key", i, got)
					}
					time.Sleep(50 * time.Millisecond)
				}
				got := s.byKey()
				if got[canaryA] < 3 || got[canaryA] > 18 || got[canaryB] != 2000 {
					t.Errorf("the dead key got %d, the other %d", got[canaryA], got[canaryB])
				}
				k := s.limiter.Snapshot().Keys
				if k[0].Usable || k[0].State != riftrelay.KeySuspect || len(k[0].Reasons) == 0 || k[0].NextProbe <= 0 || !k[1].Usable || k[1].State != riftrelay.KeyUsable {
					t.Errorf("snapshot %+v", k)
				}

				s.edge.SetKey(canaryA, 200)
				before := got[canaryA]
				for i := range 2000 {
					if got := s.statusOf(t, t.Context(), []string{status, byPUUID, byPUUID, account}[i%4]); got != "200" {
						t.Fatal(got)
					}
					time.Sleep(100 * time.Millisecond)
				}
				if n := s.byKey()[canaryA] - before; n < 300 {
					t.Errorf("the key that came back got %d of 2,000", n)
				}
				if k := s.limiter.Snapshot().Keys[0]; !k.Usable || len(k.Reasons) > 0 {
					t.Errorf("snapshot %+v", k)
				}
			})
		})
	}
}

func TestHardeningKeysAllDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "5:10"}}, Latency: delays[1].latency}, twoKeys())
		s.edge.SetKey(canaryA, 401)
		s.edge.SetKey(canaryB, 401)
		urls := []string{byPUUID, account}
		var wg sync.WaitGroup
		var mu sync.Mutex
		ends := map[string]int{}
		begin := time.Now()
		for i := range 40 {
			wg.Go(func() {
				got := s.statusOf(t, t.Context(), urls[i%2])
				mu.Lock()
				defer mu.Unlock()
				ends[got]++
			})
		}
		wg.Wait()
		if d := time.Since(begin); d > 4*time.Second || ends["no_available_key"] < 30 || ends["200"] > 0 {
			t.Errorf("after %v: %v; want what was queued refused after the first probe", d, ends)
		}
		_, err := s.client.Get(byPUUID)
		var rejected *riftrelay.RejectedError
		if !errors.As(err, &rejected) || !errors.Is(err, riftrelay.ErrNoKey) {
			t.Fatalf("%v", err)
		}
		if rejected.RetryAfter <= 0 || rejected.RetryAfter > 4*time.Second ||
			!strings.Contains(rejected.Detail, "main: 401 Unknown apikey from ") || !strings.Contains(rejected.Detail, "401 Unknown apikey from account-v1 on europe 0 s ago") || !strings.Contains(rejected.Detail, "spare: 401 Unknown apikey from ") {
			t.Errorf("retry after %v: %s", rejected.RetryAfter, rejected.Detail)
		}
		if _, _, err := s.limiter.Estimate(routeTo(t, byPUUID), 1, riftrelay.Options{}); !errors.Is(err, riftrelay.ErrNoKey) {
			t.Errorf("estimate: %v", err)
		}

		before := s.edge.Report().Arrived
		for range 600 { // 10 minutes of callers that don't give up
			if got := s.statusOf(t, t.Context(), byPUUID); got == "200" {
				t.Fatal(got)
			}
			time.Sleep(time.Second)
		}
		if n := s.edge.Report().Arrived - before; n < 4 || n > 24 {
			t.Errorf("%d probes of two keys in 10 minutes", n)
		}

		if err := s.limiter.SetKeys([]riftrelay.Key{{Name: "main", Value: canaryC}}); err != nil {
			t.Fatal(err)
		}
		if got := s.statusOf(t, t.Context(), byPUUID); got != "200" {
			t.Errorf("with a new key: %s", got)
		}
	})
}

func TestHardeningKeysComeBackAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{}, twoKeys()[:1])
		s.edge.SetKey(canaryA, 401)
		for _, url := range []string{byPUUID, account} {
			if got := s.statusOf(t, t.Context(), url); got != "401" {
				t.Errorf("the caller sees %s, want Riot's 401", got)
			}
		}
		if got := s.statusOf(t, t.Context(), byPUUID); got != "401" {
			t.Errorf("the first probe: %s, want Riot's 401", got)
		}
		if got := s.statusOf(t, t.Context(), byPUUID); got != "no_available_key" {
			t.Error(got)
		}
		s.edge.SetKey(canaryA, 200)
		time.Sleep(2 * time.Second)
		for range 3 {
			if got := s.statusOf(t, t.Context(), byPUUID); got != "200" {
				t.Error(got)
			}
		}
	})
}

func TestHardeningKeysHTML403LeavesTheKeyAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{Faults: []riotsim.Fault{{Gateway: true, Status: 403, Times: 20}}}, twoKeys()[:1])
		for i := range 20 {
			if got := s.statusOf(t, t.Context(), []string{byPUUID, mastery, status}[i%3]); got != "403" {
				t.Fatal(got)
			}
		}
		if k := s.limiter.Snapshot().Keys[0]; !k.Usable || len(k.Reasons) > 0 {
			t.Errorf("%+v", k)
		}
		if got := s.statusOf(t, t.Context(), byPUUID); got != "200" {
			t.Error(got)
		}
	})
}

func TestHardeningKeys403OnOneMethodOnly(t *testing.T) {
	const master = "/lol/champion-mastery/v4/scores/by-puuid/{encryptedPUUID}"
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{Faults: []riotsim.Fault{{Key: canaryA, Method: master, Status: 403}}}, twoKeys())
		for range 200 {
			for _, url := range []string{mastery, byPUUID} {
				if got := s.statusOf(t, t.Context(), url); got != "200" {
					t.Fatalf("%s: %s", url, got)
				}
			}
		}
		forbidden, others := 0, 0
		for _, r := range s.edge.Requests() {
			if r.Header.Get("X-Riot-Token") == canaryA {
				if strings.Contains(r.URI, "mastery") {
					forbidden++
				} else {
					others++
				}
			}
		}
		if forbidden > 2 || others < 50 {
			t.Errorf("the key got %d calls of what it may not, and %d others", forbidden, others)
		}
		if k := s.limiter.Snapshot().Keys[0]; !k.Usable {
			t.Errorf("%+v", k)
		}

		// Pinned, or with no other key, the call goes, and the caller sees what Riot says.
		pinned := riftrelay.WithOptions(t.Context(), riftrelay.Options{Key: keyAt(s.limiter, 0)})
		if got := s.statusOf(t, pinned, mastery); got != "403" {
			t.Errorf("pinned: %s", got)
		}
		s.statusOf(t, pinned, byPUUID)
		mustDo(t, s.limiter.DisableKey, "spare")
		if got := s.statusOf(t, t.Context(), mastery); got != "403" {
			t.Errorf("no other key: %s", got)
		}
	})
}

func TestHardeningKeysExceptionDecryptingStaysInTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := []riftrelay.Key{{Name: "main", Value: canaryA}, {Name: "product", Value: canaryB}, {Name: "product.2", Value: canaryC}}
		s := keyed(t, riotsim.Config{CheckIDs: true, Body: riotsim.Plausible}, keys, riftrelay.Group{Name: "product", Paths: []string{"/lol/summoner/"}})
		ids := idsOf(t, canaryA, canaryB, canaryC)
		url := func(key int) string {
			return "https://euw1.api.riotgames.com/lol/summoner/v4/summoners/by-puuid/" + ids[key]
		}
		if got := s.statusOf(t, t.Context(), url(2)); got != "200" {
			t.Errorf("an id of the second key: %s", got)
		}
		first := s.byKey()
		for range 20 {
			if got := s.statusOf(t, t.Context(), url(2)); got != "200" {
				t.Error(got)
			}
		}
		then := s.byKey()
		if then[canaryB] != first[canaryB] || then[canaryC] != first[canaryC]+20 || first[canaryB] != 1 {
			t.Errorf("at first %v, then %v: want success remembered", first, then)
		}
		if got := s.statusOf(t, t.Context(), url(0)); got != "400" {
			t.Errorf("an id of another group: %s", got)
		}
		if end := s.byKey(); end[canaryA] != 0 || end[canaryB] != then[canaryB]+1 || end[canaryC] != then[canaryC]+1 {
			t.Errorf("%v, then %v: want each key of the group tried once, no other", then, end)
		}
		pinned := riftrelay.WithOptions(t.Context(), riftrelay.Options{Key: keyAt(s.limiter, 0)})
		if got := s.statusOf(t, pinned, url(0)); got != string(riftrelay.ReasonUnknownKey) {
			t.Errorf("pinned out of its group: %s", got)
		}
	})
}

// idsOf returns an id of each key, from an edge that has nothing to do with the
// one that is looked at.
func idsOf(t *testing.T, keys ...string) (ids []string) {
	t.Helper()
	edge, err := riotsim.New(riotsim.Config{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { edge.Close() })
	for _, key := range keys {
		l, err := riftrelay.New(riftrelay.Config{Table: table, Keys: []riftrelay.Key{{Value: key}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		client := &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: edge.RoundTripper()}}
		_, body, err := call(t.Context(), client, http.MethodGet, "https://europe.api.riotgames.com/riot/account/v1/accounts/by-riot-id/a/b", "")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(body, `"puuid":"`)
		id, _, _ := strings.Cut(rest, `"`)
		if len(id) < 70 {
			t.Fatalf("no puuid in %s", body)
		}
		ids = append(ids, id)
	}
	return ids
}

// keyAt returns the key in a place of the limiter's list, as Options.Key has it.
func keyAt(l *riftrelay.Limiter, place int) riftrelay.Key {
	return riftrelay.Key{Name: l.Snapshot().Keys[place].Name}
}

func routeTo(t *testing.T, url string) route.Route {
	t.Helper()
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "https://"), ".api.riotgames.com")
	r, err := table.Match(http.MethodGet, host, path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A key that is replaced while calls wait, pinned and not, drops none of them.
func TestSetKeysDropsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "10:10"}}, Latency: delays[1].latency}, twoKeys())
		var wg sync.WaitGroup
		pinned := riftrelay.WithOptions(t.Context(), riftrelay.Options{Key: keyAt(s.limiter, 1)})
		for i := range 100 {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = pinned
			}
			wg.Go(func() {
				if got := s.statusOf(t, ctx, byPUUID); got != "200" {
					t.Errorf("%s", got)
				}
			})
		}
		time.Sleep(3 * time.Second)
		used := s.limiter.Snapshot().Scopes[0].Windows[0].Used
		if err := s.limiter.SetKeys([]riftrelay.Key{{Name: "renamed", Value: canaryA}, {Name: "spare", Value: canaryC}}); err != nil {
			t.Fatal(err)
		}
		snap := s.limiter.Snapshot()
		if snap.Keys[0].Name != "renamed" || snap.Scopes[0].Key != "renamed" || snap.Scopes[0].Windows[0].Used != used {
			t.Errorf("the key that stays lost its state: %+v", snap.Scopes)
		}
		wg.Wait()
		got := s.byKey()
		if got[canaryA]+got[canaryB]+got[canaryC] != 100 || got[canaryC] < 40 {
			t.Errorf("by key: %v", got)
		}
		s.mustHold(t)
	})
}

func TestSetKeysWithoutThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "1:60"}}}, twoKeys())
		pinned := riftrelay.WithOptions(t.Context(), riftrelay.Options{Key: keyAt(s.limiter, 1)})
		s.statusOf(t, pinned, byPUUID)
		done := make(chan string)
		go func() { done <- s.statusOf(t, pinned, byPUUID) }()
		synctest.Wait()
		if err := s.limiter.SetKeys(twoKeys()[:1]); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got != "no_available_key" {
			t.Error(got)
		}
		if got := s.statusOf(t, pinned, byPUUID); got != "unknown_key" {
			t.Error(got)
		}
		if err := s.limiter.SetKeys([]riftrelay.Key{{Name: "a b", Value: canaryC}}); err == nil || strings.Contains(err.Error(), canaryC) {
			t.Errorf("%v", err)
		}
		if k := s.limiter.Snapshot().Keys; len(k) != 1 || k[0].Name != "main" {
			t.Errorf("%+v", k)
		}
	})
}

// However often keys are replaced, ids and scopes of those long gone serve
// again, and one that returns in time finds its charges.
func TestSetKeysIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "3:10"}}}, twoKeys()[:1])
		for range 3 {
			s.statusOf(t, t.Context(), byPUUID)
		}
		for i := range 5000 {
			if err := s.limiter.SetKeys([]riftrelay.Key{{Name: "main", Value: fmt.Sprintf("RGAPI-%d", i)}}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 100 {
			if err := s.limiter.SetKeys([]riftrelay.Key{{Name: "main", Value: fmt.Sprintf("RGAPI-%d", i)}}); err != nil {
				t.Fatal(err)
			}
			s.statusOf(t, t.Context(), byPUUID)
			time.Sleep(20 * time.Millisecond)
		}
		if err := s.limiter.SetKeys(twoKeys()[:1]); err != nil {
			t.Fatal(err)
		}
		now := riftrelay.WithOptions(t.Context(), riftrelay.Options{MaxWait: riftrelay.NowOrNever})
		if got := s.statusOf(t, now, byPUUID); got != "deadline" {
			t.Errorf("a key that came back: %s, want its window still full", got)
		}
		s.mustHold(t)
	})
}

func TestGroupsAreChecked(t *testing.T) {
	for want, groups := range map[string][]riftrelay.Group{
		"no key is of that group": {{Name: "x", Paths: []string{"/lol/"}}},
		"literal beginning":       {{Name: "main", Paths: []string{"/lol/{x}"}}},
		"without a number":        {{Name: "main.2", Paths: []string{"/lol/"}}},
		"at least one":            {{Name: "main"}},
		"each name once":          {{Name: "main", Hosts: []string{"kr"}}, {Name: "main", Hosts: []string{"na1"}}},
		"each once":               {{Name: "main", Hosts: []string{"kr"}}, {Name: "spare", Hosts: []string{"kr"}}},
		"1 to 64":                 {{Name: "a b", Hosts: []string{"kr"}}},
	} {
		if _, err := riftrelay.New(riftrelay.Config{Keys: twoKeys(), Groups: groups}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", groups, err, want)
		}
	}
}

func TestGroupsKeepCallsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := []riftrelay.Key{{Name: "main", Value: canaryA}, {Name: "tournament", Value: canaryB}, {Name: "asia.1", Value: canaryC}}
		s := keyed(t, riotsim.Config{}, keys, riftrelay.Group{Name: "tournament", Paths: []string{"/lol/tournament/"}}, riftrelay.Group{Name: "asia", Hosts: []string{"kr"}})
		for url, want := range map[string]string{
			byPUUID: "main",
			"https://americas.api.riotgames.com/lol/tournament/v5/codes/x": "tournament",
			"https://kr.api.riotgames.com/lol/status/v4/platform-data":     "asia.1",
		} {
			var report handoff.Call
			ctx := handoff.With(t.Context(), &report)
			for range 3 {
				report = handoff.Call{}
				if s.statusOf(t, ctx, url); report.Key != want {
					t.Errorf("%s went on %q, want %q", url, report.Key, want)
				}
			}
		}
		mustDo(t, s.limiter.DisableKey, "tournament")
		if got := s.statusOf(t, t.Context(), "https://americas.api.riotgames.com/lol/tournament/v5/codes/x"); got != "no_available_key" {
			t.Errorf("its only key is dead: %s", got)
		}
		if got := s.statusOf(t, t.Context(), byPUUID); got != "200" {
			t.Errorf("another group: %s", got)
		}
	})
}

// A POST that Riot refused for its key arrives once more on another, its body
// whole; one that can't be sent again doesn't.
func TestFailoverOfBodies(t *testing.T) {
	for _, keep := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := keyed(t, riotsim.Config{}, twoKeys())
			s.edge.SetKey(canaryA, 401)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://americas.api.riotgames.com/lol/tournament/v5/codes", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if !keep {
				req.GetBody = nil
			}
			resp, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			want := map[bool]int{true: 200, false: 401}[keep]
			if resp.StatusCode != want {
				t.Errorf("kept %v: %d, want %d", keep, resp.StatusCode, want)
			}
			for _, r := range s.edge.Requests() {
				if r.Length != 2 {
					t.Errorf("%d bytes arrived", r.Length)
				}
			}
		})
	}
}

// What is looked at of a 400 is given back whole.
func TestPeekedBodyStaysWhole(t *testing.T) {
	for _, size := range []int{0, 100, 4096, 300_000} {
		synctest.Test(t, func(t *testing.T) {
			body := bytes.Repeat([]byte("x"), size)
			s := keyed(t, riotsim.Config{Faults: []riotsim.Fault{{Status: 400, Body: body}}}, twoKeys()[:1])
			resp, got, err := call(t.Context(), s.client, http.MethodGet, byPUUID, "")
			if err != nil || resp.StatusCode != 400 || got != string(body) {
				t.Errorf("%d bytes of %d, %v", len(got), size, err)
			}
			if k := s.limiter.Snapshot().Keys[0]; !k.Usable {
				t.Errorf("%+v", k)
			}
		})
	}
}

// No key shows in what the library says, whatever becomes of it.
func TestHardeningKeysCanaryIsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{}, twoKeys())
		s.edge.SetKey(canaryA, 401)
		s.edge.SetKey(canaryB, 403)
		var said strings.Builder
		for i := range 20 {
			resp, body, err := call(t.Context(), s.client, http.MethodGet, []string{byPUUID, mastery, status}[i%3], "")
			fmt.Fprintf(&said, "%v %s %v %#v\n", resp, body, err, err)
			fmt.Fprintf(&said, "%+v %#v\n", s.limiter.Snapshot(), s.limiter.Snapshot())
			time.Sleep(300 * time.Millisecond)
		}
		if err := s.limiter.SetKeys([]riftrelay.Key{{Name: "x", Value: canaryC}, {Name: "y", Value: canaryC}}); err == nil {
			t.Error("the same key twice was taken")
		} else {
			fmt.Fprintf(&said, "%v\n", err)
		}
		if err := s.limiter.SaveState(&said); err != nil {
			t.Fatal(err)
		}
		// A response knows its request; that is Go's, and the header is in it.
		if text := said.String(); strings.Contains(text, "CANARY") || !strings.Contains(text, "main") {
			i := strings.Index(text, "CANARY")
			t.Errorf("found a key: …%s…", text[max(0, i-100):min(len(text), i+100)])
		}
	})
}
