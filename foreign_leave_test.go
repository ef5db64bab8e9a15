package riftrelay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// foreignUse calls at random on the key of s until ctx ends, on average n times
// in w.
func foreignUse(ctx context.Context, t *testing.T, s *simulated, seed uint64, n float64, w time.Duration) {
	r, rnd := mustMatch(t, byPUUID), rand.New(rand.NewPCG(seed, 2))
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rnd.ExpFloat64() * float64(w) / n))
		s.edge.Arrive(time.Now(), riotsim.Call{Key: oneKey, Host: r.Host, Method: r.Method})
	}
}

// TestGoesOnAfterOthers has another program take most of the key for five
// minutes, and leave. A minute later the relay uses its limit again, also where
// 429s of the time before have halved it.
func TestGoesOnAfterOthers(t *testing.T) {
	for _, limits := range []struct {
		riot string
		n    int
		w    time.Duration
	}{{"20:1,100:120", 100, 120 * time.Second}, {"20:1", 20, time.Second}, {"100:10", 100, 10 * time.Second}, {"8:1", 8, time.Second}} {
		for _, workers := range []int{1, 3, 50} {
			for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
				for seed := range uint64(2) {
					t.Run(fmt.Sprintf("%s/%d/b=%v/%d", limits.riot, workers, pacing, seed), func(t *testing.T) {
						if thinned(t, 4) {
							return
						}
						synctest.Test(t, func(t *testing.T) {
							s := simulate(t, riotsim.Config{
								AppLimits: []riotsim.Rule{{Limit: limits.riot}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
								Latency: delays[1].latency, Seed: seed,
							}, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1})
							began := time.Now()
							ctx, stop := context.WithCancel(t.Context())
							time.AfterFunc(11*time.Minute, stop)
							others, leave := context.WithTimeout(ctx, 5*time.Minute)
							defer leave()
							go foreignUse(others, t, s, seed, 0.95*float64(limits.n), limits.w)
							backlog(ctx, t, s.client, workers, byPUUID).Wait()
							n := 0 // from the sixth minute to the eleventh
							for _, a := range s.edge.Arrivals() {
								if a.Time.Sub(began) >= 6*time.Minute {
									n++
								}
							}
							// The most that the limit and so few callers can make of five minutes.
							most := min(5*60*float64(limits.n)/limits.w.Seconds(), 5*60*float64(workers)/0.05)
							t.Logf("own 429s %d; then %d of %.0f calls", s.violations.Load(), n, most)
							if float64(n) < 0.8*most {
								t.Errorf("%d of %.0f calls with nobody else on the key", n, most)
							}
						})
					})
				}
			}
		}
	}
}

// TestGoesOnAfterOthersWithNewCallers is the same with callers as they are: each
// waits 20 to 40 s, and new ones come all the time. The settings are the
// defaults.
func TestGoesOnAfterOthersWithNewCallers(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if thinned(t, 4) {
				return
			}
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{
					AppLimits: []riotsim.Rule{{Limit: "20:1"}}, MethodLimits: []riotsim.Rule{{Limit: "8:1"}}, Latency: delays[1].latency, Seed: seed,
				}, riftrelay.Config{})
				began := time.Now()
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(20*time.Minute, stop)
				others, leave := context.WithTimeout(ctx, 5*time.Minute)
				defer leave()
				go foreignUse(others, t, s, seed, 0.95*8, time.Second)
				var wg sync.WaitGroup
				for i := range 30 {
					wg.Go(func() {
						time.Sleep(time.Duration(i) * 700 * time.Millisecond)
						for k := 0; ctx.Err() == nil; k++ {
							wait := 20*time.Second + time.Duration((i*7919+k*104729)%20000)*time.Millisecond
							if get(riftrelay.WithOptions(ctx, riftrelay.Options{MaxWait: wait}), s.client, byPUUID) != nil {
								time.Sleep(time.Second)
							}
						}
					})
				}
				wg.Wait()
				n := 0
				for _, a := range s.edge.Arrivals() {
					if a.Time.Sub(began) >= 10*time.Minute {
						n++
					}
				}
				t.Logf("own 429s %d; then %d calls in ten minutes", s.violations.Load(), n)
				if n < 8*600*8/10/4 { // the breaker may take two halvings up to five minutes each
					t.Errorf("%d calls in ten minutes alone on the key", n)
				}
			})
		})
	}
}
