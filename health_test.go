package riftrelay_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// The tests of this file are about 401s and 403s that don't speak against a key
// as a whole (docs/riot.md R18).

const (
	matchIDs  = "https://europe.api.riotgames.com/lol/match/v5/matches/by-puuid/p/ids"
	matchUS   = "https://americas.api.riotgames.com/lol/match/v5/matches/NA1_1"
	summonNA  = "https://na1.api.riotgames.com/lol/summoner/v4/summoners/by-puuid/x"
	masteryNA = "https://na1.api.riotgames.com/lol/champion-mastery/v4/scores/by-puuid/x"
)

// refusing answers 200, and after five seconds status as JSON where refuse says
// so.
func refusing(t *testing.T, status int, refuse func(*http.Request) bool) (*http.Client, *riftrelay.Limiter) {
	t.Helper()
	l, err := riftrelay.New(riftrelay.Config{Table: table, Keys: twoKeys()[:1], Pacing: riftrelay.PacingBurst})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	began := time.Now()
	base := answering(func(r *http.Request) (*http.Response, error) {
		h, code := learned("10000:10", "10000:10"), http.StatusOK
		if began.Add(5*time.Second).Before(time.Now()) && refuse(r) {
			h, code = http.Header{}, status
		}
		h.Set("Content-Type", "application/json")
		return &http.Response{StatusCode: code, Header: h, Body: http.NoBody, Request: r}, nil
	})
	return &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: base}}, l
}

// A key that may not use one API, and a host that refuses everything for a while,
// cost no other call anything: each of those is answered at once.
func TestHardeningKeysRefusedInOnePlace(t *testing.T) {
	for name, c := range map[string]struct {
		refuse  func(*http.Request) bool
		refused []string
		served  []string
		names   string
	}{
		"one API": {func(r *http.Request) bool { return strings.Contains(r.URL.Opaque, "/lol/match/") }, []string{matchIDs, matchUS},
			[]string{byPUUID, account, mastery, summonNA}, "match-v5"},
		"one host": {func(r *http.Request) bool { return strings.HasPrefix(r.Host, "euw1.") }, []string{byPUUID, mastery, status},
			[]string{summonNA, masteryNA, account, matchIDs}, "euw1"},
	} {
		for _, code := range []int{401, 403} {
			t.Run(fmt.Sprint(name, " ", code), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client, l := refusing(t, code, c.refuse)
					time.Sleep(time.Second)
					for _, url := range append(c.served, c.refused...) {
						client.Get(url) // the limits are known
					}
					time.Sleep(5 * time.Second)
					begin := time.Now()
					var wg sync.WaitGroup
					for i := range 1000 {
						wg.Go(func() {
							for want, url := range map[int]string{code: c.refused[i%len(c.refused)], 200: c.served[i%len(c.served)]} {
								resp, err := client.Get(url)
								if err != nil || resp.StatusCode != want {
									t.Errorf("%s: %v, %v; want %d", url, resp, err, want)
								}
							}
						})
						time.Sleep(10 * time.Millisecond)
					}
					wg.Wait()
					if d := time.Since(begin); d > 10*time.Second {
						t.Errorf("2,000 calls took %v, want none to wait", d)
					}
					k := l.Snapshot().Keys[0]
					if !k.Usable || len(k.Reasons) == 0 || !strings.Contains(strings.Join(k.Reasons, "\n"), c.names) {
						t.Errorf("%+v, want a usable key, with reasons that name %s", k, c.names)
					}
				})
			})
		}
	}
}

// One 401 proves nothing: what waits is not refused. Nor is it when the key is
// suspect, until the first probe has been answered.
func TestOneRefusalProvesNothing(t *testing.T) {
	for _, c := range []struct {
		returns bool // the key, before the first probe
		refused int
	}{{true, 0}, {false, 49}} {
		synctest.Test(t, func(t *testing.T) {
			l := successor(t, twoKeys()[:1]...)
			time.Sleep(time.Second)
			acquire := func(url string) riftrelay.Permit {
				t.Helper()
				p, err := l.Acquire(t.Context(), mustMatch(t, url), riftrelay.Options{})
				if err != nil {
					t.Fatal(err)
				}
				p.Sent()
				return p
			}
			dead := http.Header{"Content-Type": {"application/json"}}
			acquire(byPUUID).Observe(200, learned("20:1,100:120", "1000:10"))
			acquire(account).Observe(200, learned("20:1,100:120", "1000:10"))
			first, second := acquire(byPUUID), acquire(account)
			var refused, served atomic.Int64
			var wg sync.WaitGroup
			first.Observe(401, dead)
			if k := l.Snapshot().Keys[0]; !k.Usable {
				t.Errorf("after one 401: %+v", k)
			}
			second.Observe(401, dead)
			if k := l.Snapshot().Keys[0]; k.Usable {
				t.Errorf("refused by two hosts and two APIs: %+v", k)
			}
			for range 50 {
				wg.Go(func() {
					q, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), riftrelay.Options{})
					if err != nil {
						refused.Add(1)
						return
					}
					q.Sent()
					served.Add(1)
					if c.returns {
						q.Observe(200, learned("20:1,100:120", "1000:10"))
					} else {
						q.Observe(401, dead)
					}
				})
			}
			time.Sleep(900 * time.Millisecond)
			if n := refused.Load() + served.Load(); n != 0 {
				t.Errorf("%d of 50 waiting calls ended before the probe", n)
			}
			wg.Wait()
			if int(refused.Load()) != c.refused {
				t.Errorf("%d of 50 refused, want %d", refused.Load(), c.refused)
			}
		})
	}
}

// The probe of a suspect key that proves something goes at once: a call where
// Riot never refused it. A region with an outage and an API that the key may not
// use, both at once, hold nobody up for long.
func TestProbeWhereItProvesSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, l := refusing(t, 403, func(r *http.Request) bool {
			return strings.HasPrefix(r.Host, "euw1.") || strings.Contains(r.URL.Opaque, "/lol/match/")
		})
		time.Sleep(time.Second)
		for _, url := range []string{byPUUID, matchIDs, mastery, matchUS, summonNA} {
			client.Get(url) // the limits are known
		}
		time.Sleep(5 * time.Second)
		client.Get(byPUUID)
		client.Get(matchIDs)
		if k := l.Snapshot().Keys[0]; k.Usable {
			t.Fatalf("%+v", k)
		}
		begin := time.Now()
		for i := range 300 {
			if resp, err := client.Get(summonNA); err != nil || resp.StatusCode != 200 {
				t.Fatalf("%v, %v", resp, err)
			}
			client.Get([]string{byPUUID, matchIDs, mastery, matchUS}[i%4])
		}
		if d := time.Since(begin); d > 100*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		if k := l.Snapshot().Keys[0]; !k.Usable || len(k.Reasons) != 4 {
			t.Errorf("%+v", k)
		}
	})
}

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Lists that stand in several lines are one (RFC 9110 5.3), and what is said twice
// counts once (R15).
func TestLimitsInSeveralLines(t *testing.T) {
	l := successor(t, twoKeys()[:1]...)
	p, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), riftrelay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Sent()
	p.Observe(200, http.Header{
		"X-App-Rate-Limit": {"20:1", "100:120"}, "X-App-Rate-Limit-Count": {"1:1", "1:120"},
		"X-Method-Rate-Limit": {"10:60,10:60"}, "X-Method-Rate-Limit-Count": {"1:60, 1:60"},
	})
	for _, s := range l.Snapshot().Scopes {
		if want := map[bool]int{true: 2, false: 1}[s.Method == ""]; len(s.Windows) != want {
			t.Errorf("%s has %+v, want %d windows", s.Method, s.Windows, want)
		}
	}
}

// A Base that panics returns its permit.
func TestBasePanics(t *testing.T) {
	l := successor(t, twoKeys()[:1]...)
	client := &riftrelay.Transport{Limiter: l, Base: answering(func(*http.Request) (*http.Response, error) { panic("base") })}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, byPUUID, http.NoBody)
		client.RoundTrip(req)
	}()
	if n := l.Snapshot().InFlight; n != 0 {
		t.Errorf("%d in flight", n)
	}
}
