package riftrelay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/internal/handoff"
	"riftrelay/riotsim"
)

// TestRandomSchedules runs random loads against random edges: mixed
// priorities, hung and cancelled calls, slow dials, bursts and pauses. By the
// sorted arrivals no interval of a window's length may hold more than its
// limit.
func TestRandomSchedules(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if thinned(t, 4) {
				return
			}
			synctest.Test(t, func(t *testing.T) { randomSchedule(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func randomSchedule(t *testing.T, r *rand.Rand) {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	ms := func(least, most int) time.Duration {
		return time.Duration(least+r.IntN(most-least+1)) * time.Millisecond
	}
	const margin = 150 // ms: J, and so the most that the way up may vary
	up := ms(0, 100)
	s := simulate(t, riotsim.Config{
		AppLimits:    []riotsim.Rule{{Limit: pick("20:1,100:120", "500:10,30000:600", "100:1", "100:10", "7:2,30:10")}},
		MethodLimits: []riotsim.Rule{{Limit: pick(riotsim.NoLimit, "30:10", "10:1,50:20", "50:10")}},
		Windows:      []riotsim.WindowKind{riotsim.Fixed, riotsim.Sliding, riotsim.Aligned}[r.IntN(3)],
		Order:        []riotsim.Order{riotsim.Descending, riotsim.Ascending, riotsim.Shuffled}[r.IntN(3)],
		Latency:      riotsim.Latency{Up: up, UpJitter: ms(0, margin), Down: ms(0, 100), DownJitter: ms(0, 400)},
		Faults: []riotsim.Fault{
			{Hang: 60 * time.Second, Chance: 0.02},
			{Reset: true, Chance: 0.02},
			{Status: 503, Chance: 0.02},
			{Gateway: true, Chance: 0.01},
		},
		Seed: r.Uint64(),
	}, riftrelay.Config{Pacing: pacings[r.IntN(len(pacings))], AdmissionTimeout: -1})
	dial := ms(0, 3000)
	s.wire.Dial = func(n uint64) time.Duration { // 2 % slow dials
		if n%50 == 7 {
			return dial
		}
		return 0
	}

	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(90*time.Second, stop)
	urls := []string{byPUUID, mastery, status}
	var wg sync.WaitGroup
	for range 20 + r.IntN(60) {
		r := rand.New(rand.NewPCG(r.Uint64(), 2))
		wg.Go(func() {
			for ctx.Err() == nil {
				o := riftrelay.Options{Priority: riftrelay.Priority(r.IntN(2))}
				one, cancel := context.WithCancel(ctx)
				if r.IntN(10) == 0 {
					time.AfterFunc(time.Duration(r.IntN(2000))*time.Millisecond, cancel)
				}
				err := get(riftrelay.WithOptions(one, o), s.client, urls[r.IntN(len(urls))])
				cancel()
				if rejected := (*riftrelay.RejectedError)(nil); errors.As(err, &rejected) {
					t.Errorf("nothing may be rejected here: %v", err)
					return
				}
				if r.IntN(20) == 0 {
					time.Sleep(time.Duration(r.IntN(15000)) * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	s.mustHold(t)
	if arrived := s.edge.Report().Arrived; arrived < 50 {
		t.Errorf("only %d calls arrived", arrived)
	}
	if snap := s.limiter.Snapshot(); snap.InFlight != 0 || snap.Queued != 0 {
		t.Errorf("left behind: %d in flight, %d queued", snap.InFlight, snap.Queued)
	}
}

// TestEvenAfterAPause stops the load for half a window: what comes then is
// paced, not a clump.
func TestEvenAfterAPause(t *testing.T) {
	for _, set := range limitSets[:3] {
		t.Run(set.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{
					AppLimits: []riotsim.Rule{{Limit: set.app}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
					Latency: delays[1].latency,
				}, riftrelay.Config{Pacing: riftrelay.PacingSpread, AdmissionTimeout: -1})
				run := func(d time.Duration) {
					ctx, stop := context.WithCancel(t.Context())
					time.AfterFunc(d, stop)
					backlog(ctx, t, s.client, 30, set.urls...).Wait()
				}
				run(set.w)
				time.Sleep(set.w / 2)
				resumed := time.Now()
				run(2 * set.w)

				var times []time.Time
				for _, a := range s.edge.Arrivals() {
					if a.Time.After(resumed) {
						times = append(times, a.Time)
					}
				}
				n, w := binding(set)
				if most, at := riotsim.MaxInInterval(times, w/20); most > n/20+2 {
					t.Errorf("%d calls within a twentieth of %v from %v on, want at most %d", most, w, at.Sub(resumed), n/20+2)
				}
				s.mustHold(t)
			})
		})
	}
}

// binding returns the window of a set that paces.
func binding(set limitSet) (n int, w time.Duration) { return set.n, set.w }

// TestNormalGetsItsShare floods a host with calls of high priority: of what
// both want, a twentieth stays normal's.
func TestNormalGetsItsShare(t *testing.T) {
	for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
		for name, limits := range map[string][2]string{
			"application": {"20:1,500:60", riotsim.NoLimit},
			"method":      {"1000:1", "20:1"},
		} {
			t.Run(fmt.Sprintf("%s b=%v", name, pacing), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := simulate(t, riotsim.Config{
						AppLimits: []riotsim.Rule{{Limit: limits[0]}}, MethodLimits: []riotsim.Rule{{Limit: limits[1]}},
					}, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1})
					ctx, stop := context.WithCancel(t.Context())
					time.AfterFunc(5*time.Minute, stop)
					var served [2]int
					var mu sync.Mutex
					var wg sync.WaitGroup
					for i := range 200 {
						p := riftrelay.Priority(i % 2)
						wg.Go(func() {
							for get(riftrelay.WithOptions(ctx, riftrelay.Options{Priority: p}), s.client, byPUUID) == nil {
								mu.Lock()
								served[p]++
								mu.Unlock()
							}
						})
					}
					wg.Wait()
					share := float64(served[riftrelay.Normal]) / float64(served[0]+served[1])
					if share < 0.048 || share > 0.06 {
						t.Errorf("normal got %.3f of %v, want a twentieth", share, served)
					}
					s.mustHold(t)
				})
			})
		}
	}
}

// TestMethodsTakeTurns has one method with a far longer queue than another:
// both get the same share of the application's limit, and an exhausted third
// holds up neither.
func TestMethodsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{
			AppLimits:    []riotsim.Rule{{Limit: "100:10"}},
			MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}, {Method: "lol-status-v4", Limit: "1:100"}},
		}, riftrelay.Config{Pacing: riftrelay.PacingSpread, AdmissionTimeout: -1})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Second, stop)
		many := backlog(ctx, t, s.client, 300, byPUUID)
		few := backlog(ctx, t, s.client, 5, mastery)
		blocked := backlog(ctx, t, s.client, 300, status)
		many.Wait()
		few.Wait()
		blocked.Wait()
		got := map[string]int{}
		for _, a := range s.edge.Arrivals() {
			got[a.Method.Service]++
		}
		a, b, c := got["summoner-v4"], got["champion-mastery-v4"], got["lol-status-v4"]
		if a+b < 1900 || a > b+20 || b > a+20 || c > 4 {
			t.Errorf("arrivals %v: want about 1,000 each of the two open methods", got)
		}
		s.mustHold(t)
	})
}

// TestKeysShareTheLoad uses several keys: each to its own limit, and a pinned
// call on its key alone.
func TestKeysShareTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "10:1"}, {Key: "RGAPI-c", Limit: "20:1"}}}, riftrelay.Config{
			Keys: []riftrelay.Key{{Value: "RGAPI-a"}, {Value: "RGAPI-b"}, {Value: "RGAPI-c"}}, AdmissionTimeout: -1, Pacing: riftrelay.PacingBurst,
		})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Second, stop)
		backlog(ctx, t, s.client, 100, byPUUID).Wait()
		got := map[string]int{}
		for _, a := range s.edge.Arrivals() {
			got[a.Key]++
		}
		if got["RGAPI-a"] < 180 || got["RGAPI-b"] < 180 || got["RGAPI-c"] < 360 {
			t.Errorf("arrivals by key %v, want each limit used", got)
		}
		s.mustHold(t)

		var report handoff.Call
		pinned := handoff.With(riftrelay.WithOptions(t.Context(), riftrelay.Options{Key: keyAt(s.limiter, 1)}), &report)
		for range 5 {
			report = handoff.Call{}
			if err := get(pinned, s.client, byPUUID); err != nil || report.Key != "key1" {
				t.Errorf("pinned to key1: went on %q, %v", report.Key, err)
			}
		}
	})
}

// TestHungCallsHoldNoSlot hangs every tenth call for a minute: with a margin
// after its sending, its place in a 1 s window is free again.
func TestHungCallsHoldNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: "20:1"}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
			Faults: []riotsim.Fault{{Hang: time.Minute, Chance: 0.1}}, Latency: delays[0].latency,
		}, riftrelay.Config{Pacing: riftrelay.PacingBurst, AdmissionTimeout: -1})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Second, stop)
		backlog(ctx, t, s.client, 400, byPUUID).Wait()
		if n := s.edge.Report().Accepted; n < 1700 {
			t.Errorf("%d accepted in 100 s of 20:1", n)
		}
		s.mustHold(t)
	})
}

var _ http.RoundTripper = (*riftrelay.Transport)(nil)
