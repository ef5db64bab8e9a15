package riftrelay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// way is the delay of a call and that of its answer.
func way(up, down time.Duration) riotsim.Latency {
	return riotsim.Latency{Up: up * time.Millisecond, Down: down * time.Millisecond}
}

// manners are the ways in which calls are let go.
var manners = []struct {
	name    string
	pacing  riftrelay.Pacing
	options riftrelay.Options
}{
	{"spread", riftrelay.PacingSpread, riftrelay.Options{}},
	{"burst", riftrelay.PacingBurst, riftrelay.Options{}},
	{"high", riftrelay.PacingSpread, riftrelay.Options{Priority: riftrelay.High}},
}

// inEveryManner runs a simulation for each set of limits, kind of windows and
// manner. load keeps callers waiting for a while.
func inEveryManner(t *testing.T, name string, latency riotsim.Latency, do func(t *testing.T, s *simulated, set limitSet, load func(time.Duration))) {
	for _, set := range limitSets[:3] {
		for _, windows := range []riotsim.WindowKind{riotsim.Fixed, riotsim.Sliding} {
			for _, m := range manners {
				t.Run(fmt.Sprintf("%s/%s/%v/%s", name, set.name, windows, m.name), func(t *testing.T) {
					if thinned(t, 16) {
						return
					}
					synctest.Test(t, func(t *testing.T) {
						s := simulate(t, riotsim.Config{
							AppLimits: []riotsim.Rule{{Limit: set.app}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Windows: windows, Latency: latency, Seed: 3,
						}, riftrelay.Config{Pacing: m.pacing, AdmissionTimeout: -1})
						do(t, s, set, func(d time.Duration) {
							ctx, stop := context.WithCancel(riftrelay.WithOptions(t.Context(), m.options))
							time.AfterFunc(d, stop)
							backlog(ctx, t, s.client, set.n+100, byPUUID).Wait()
						})
					})
				})
			}
		}
	}
}

// TestDelayFallsBetweenBatches has callers pause and come back, so that a whole
// window's calls leave at once. The delay falls before the next window's. No
// fall may cost an own 429, whichever share of the delay the way up has.
func TestDelayFallsBetweenBatches(t *testing.T) {
	for _, fall := range [][2]riotsim.Latency{
		{way(1000, 1000), way(10, 10)}, {way(500, 500), way(10, 10)}, {way(200, 200), way(10, 10)}, {way(30, 30), way(15, 15)}, {way(20, 20), way(10, 10)},
		{way(300, 100), way(10, 10)}, {way(380, 20), way(10, 10)}, {way(20, 380), way(5, 5)}, // asymmetric
	} {
		inEveryManner(t, fmt.Sprintf("%v+%v-%v", fall[0].Up, fall[0].Down, fall[1].Up+fall[1].Down), fall[0], func(t *testing.T, s *simulated, set limitSet, load func(time.Duration)) {
			load(4*set.w + 20*time.Second)
			time.Sleep(2*set.w + 20*time.Second)
			time.AfterFunc(set.w/2, func() { s.edge.SetLatency(fall[1]) })
			load(3 * set.w)
			s.mustHold(t)
		})
	}
}

// TestDelayFallsUnderBacklog lets the delay fall while callers wait.
func TestDelayFallsUnderBacklog(t *testing.T) {
	for _, fall := range [][2]riotsim.Latency{{way(500, 500), way(10, 10)}, {way(200, 200), way(10, 10)}, {way(300, 100), way(10, 10)}} {
		inEveryManner(t, fmt.Sprintf("%v+%v-%v", fall[0].Up, fall[0].Down, fall[1].Up+fall[1].Down), fall[0], func(t *testing.T, s *simulated, set limitSet, load func(time.Duration)) {
			time.AfterFunc(2*set.w+time.Minute, func() { s.edge.SetLatency(fall[1]) })
			load(5*set.w + 2*time.Minute)
			s.mustHold(t)
		})
	}
}

// TestConnectionEndsAtAnEdgeProxy has a way that varies beyond a proxy near by, at
// which the connection ends. Nothing on this side of it shows that.
func TestConnectionEndsAtAnEdgeProxy(t *testing.T) {
	for _, jitter := range []time.Duration{30, 100, 200} {
		latency := way(30, 30)
		latency.UpJitter = jitter * time.Millisecond
		inEveryManner(t, fmt.Sprint(latency.UpJitter), latency, func(t *testing.T, s *simulated, _ limitSet, load func(time.Duration)) {
			lasts := 5 * time.Minute
			if *soakHours > 0 {
				lasts = 20 * time.Minute
			}
			load(lasts)
			t.Logf("%d own 429s in %v, J %v", s.violations.Load(), lasts, s.limiter.Snapshot().Margin)
			if n := s.violations.Load(); n > 0 {
				t.Errorf("%d own 429s", n)
			}
		})
	}
}

// TestAnswersAfterLongThinking has Riot take 0.5 to 3 s for each answer, on a way
// of 20 ms there and back: a slow answer is no slow way.
func TestAnswersAfterLongThinking(t *testing.T) {
	thinking := riotsim.Latency{Of: func(n uint64) (up, down time.Duration) {
		r := rand.New(rand.NewPCG(n, 9)) // of the call alone: many ask at once
		return 10 * time.Millisecond, 510*time.Millisecond + time.Duration(r.Int64N(int64(2500*time.Millisecond)))
	}}
	for _, set := range limitSets[:2] {
		for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
			t.Run(fmt.Sprintf("%s/b=%v", set.name, pacing), func(t *testing.T) {
				if thinned(t, 4) {
					return
				}
				synctest.Test(t, func(t *testing.T) {
					use := useOf(t, set, riotsim.Sliding, thinking, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1})
					t.Logf("use %.4f", use)
					if use < 0.982 {
						t.Errorf("use %.4f, want at least 0.982", use)
					}
				})
			})
		}
	}
}
