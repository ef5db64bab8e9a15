package riftrelay_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// 429s as they come on bad days: many at once, without saying how long, or
// again and again.

var everyKind = []riotsim.Kind{riotsim.Application, riotsim.Method, riotsim.Service, riotsim.Server, riotsim.Untyped}

// Riot refuses everything for ten seconds. It sees no more than what was under
// way when that began, but for the probes where it doesn't say how long, and
// everybody is served when it is over.
func TestStormIsWhatWasInFlight(t *testing.T) {
	const trouble = 10 * time.Second
	for _, kind := range everyKind {
		for _, clients := range []int{20, 50} {
			t.Run(fmt.Sprint(kind, " ", clients), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var ends time.Time
					s := simulate(t, riotsim.Config{
						AppLimits: []riotsim.Rule{{Limit: riotsim.Large}}, Latency: delays[1].latency,
						Script: func(riotsim.Call) *riotsim.Fault {
							if left := time.Until(ends); left > 0 {
								f := &riotsim.Fault{Kind: kind}
								if kind != riotsim.Untyped {
									f.Wait = left
								}
								return f
							}
							return nil
						},
					}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
					if err := get(t.Context(), s.client, byPUUID); err != nil {
						t.Fatal(err)
					}
					ends = time.Now().Add(trouble)
					var all sync.WaitGroup
					for range clients {
						all.Go(func() {
							if got := statusCode(t, s.client, byPUUID); got != http.StatusOK && kind != riotsim.Untyped {
								t.Errorf("a client got %d", got)
							}
						})
					}
					time.Sleep(time.Second / 2) // R14: the shortest pad
					under := s.edge.Report().Rejected.Total()
					all.Wait()
					probes := 0
					if kind == riotsim.Untyped {
						probes = 4 // after 1, 2, 4 and 8 s
					}
					if n := s.edge.Report().Rejected.Total(); under > clients || n > clients+probes {
						t.Errorf("%d 429s while calls were under way and %d in all, for %d clients", under, n, clients)
					}
					if took := time.Since(ends); took > 20*time.Second {
						t.Errorf("all served %v after the trouble", took)
					}
				})
			})
		}
	}
}

func statusCode(t *testing.T, client *http.Client, url string) int {
	resp, _, err := call(t.Context(), client, http.MethodGet, url, "")
	if err != nil {
		t.Error(err)
		return 0
	}
	return resp.StatusCode
}

// A 429 holds what it concerns, whatever else its answer lacks: limits, counts,
// or for how long.
func TestBare429HoldsItsScope(t *testing.T) {
	for _, kind := range everyKind {
		for name, wait := range map[string]time.Duration{"with Retry-After": 5 * time.Second, "without": -1} {
			t.Run(fmt.Sprint(kind, " ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := simulate(t, riotsim.Config{
						AppLimits: []riotsim.Rule{{Limit: riotsim.Large}},
						Faults:    []riotsim.Fault{{Kind: kind, Bare: true, Wait: wait, Skip: 1, Times: 1}},
					}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
					if err := get(t.Context(), s.client, byPUUID); err != nil {
						t.Fatal(err)
					}
					begin := time.Now()
					var all sync.WaitGroup
					for i := range 10 {
						all.Go(func() {
							time.Sleep(time.Duration(i) * time.Millisecond)
							if got := statusCode(t, s.client, byPUUID); got != http.StatusOK {
								t.Errorf("status %d", got)
							}
						})
					}
					all.Wait()
					arrivals := s.edge.Arrivals()[1:]
					// The first is refused; what follows waits for 5 s and the
					// pad, or where nothing is said for a back-off of 1 s or
					// the windows' end.
					least := time.Second / 2
					if wait > 0 {
						least = wait + time.Second/2
					}
					if arrivals[0].Kind != kind || len(arrivals) != 11 {
						t.Fatalf("arrivals %+v", arrivals)
					}
					if gap := arrivals[1].Time.Sub(arrivals[0].Time); gap < least {
						t.Errorf("the next call came %v after the 429, want %v at least", gap, least)
					}
					if took := time.Since(begin); took > 15*time.Second {
						t.Errorf("the queue stood still for %v", took)
					}
				})
			})
		}
	}
}

// However long Riot refuses, a call ends at its deadline and the caller sees
// Riot's last answer. Calls that wait share the tries: each 429 stops them all.
func TestRetriesEnd(t *testing.T) {
	for _, kind := range everyKind {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Kind: kind, Wait: time.Second}}}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
				const clients, most = 10, time.Minute
				begin := time.Now()
				ctx := riftrelay.WithOptions(t.Context(), riftrelay.Options{MaxWait: most})
				var all sync.WaitGroup
				for range clients {
					all.Go(func() {
						resp, _, err := call(ctx, s.client, http.MethodGet, byPUUID, "")
						if err == nil && resp.StatusCode != http.StatusTooManyRequests {
							t.Errorf("status %d", resp.StatusCode)
						}
					})
				}
				all.Wait()
				if took := time.Since(begin); took > most+time.Second {
					t.Errorf("the last call ended after %v, want %v at most", took, most)
				}
				if n := s.edge.Report().Arrived; n > int(most/time.Second) || n < 4 {
					t.Errorf("%d sendings in %v, want fewer than one a second, as Riot asked", n, most)
				}
			})
		})
	}
}

// Trouble on one host, whatever it is, costs another one nothing.
func TestOneRegionDoesNotSlowAnother(t *testing.T) {
	for name, fault := range map[string]riotsim.Fault{
		"application 429": {Kind: riotsim.Application, Wait: 30 * time.Second}, "service 429": {Kind: riotsim.Service},
		"hangs": {Hang: time.Minute}, "502": {Gateway: true}, "resets": {Reset: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fault.Host = "euw1"
				s := simulate(t, riotsim.Config{
					AppLimits: []riotsim.Rule{{Limit: "100:10"}}, Faults: []riotsim.Fault{fault}, Latency: delays[1].latency,
				}, riftrelay.Config{Pacing: riftrelay.PacingBurst, AdmissionTimeout: -1})
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(60*time.Second, stop)
				var all sync.WaitGroup
				for range 200 {
					all.Go(func() {
						for ctx.Err() == nil {
							_ = get(ctx, s.client, byPUUID) // fails when the fault says so
						}
					})
				}
				backlog(ctx, t, s.client, 200, strings.Replace(byPUUID, "euw1", "na1", 1)).Wait()
				all.Wait()
				served := 0
				for _, a := range s.edge.Arrivals() {
					if a.Host == "na1" && a.Status == http.StatusOK {
						served++
					}
				}
				if served < 590 {
					t.Errorf("the other host served %d calls in a minute of 100:10", served)
				}
			})
		})
	}
}
