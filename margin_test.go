package riftrelay_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// TestDelayJumps lets the delay to Riot jump from 20 to 400 ms and back within
// the ten minutes for which its least is remembered.
func TestDelayJumps(t *testing.T) {
	for _, limits := range []string{"20:1,100:120", "500:10", "100:1"} {
		for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
			t.Run(fmt.Sprintf("%s/b=%v", limits, pacing), func(t *testing.T) {
				if thinned(t, 4) {
					return
				}
				synctest.Test(t, func(t *testing.T) {
					s := simulate(t, riotsim.Config{
						AppLimits: []riotsim.Rule{{Limit: limits}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Windows: riotsim.Sliding,
						Latency: roundTrip(20 * time.Millisecond),
					}, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1})
					ctx, stop := context.WithCancel(t.Context())
					var wg sync.WaitGroup
					wg.Go(func() {
						defer stop()
						for range 2 {
							time.Sleep(2 * time.Minute)
							s.edge.SetLatency(roundTrip(400 * time.Millisecond))
							time.Sleep(5 * time.Minute)
							s.edge.SetLatency(roundTrip(20 * time.Millisecond))
						}
						time.Sleep(time.Minute)
					})
					backlog(ctx, t, s.client, 120, byPUUID).Wait()
					wg.Wait()
					s.mustHold(t)
				})
			})
		}
	}
}

func roundTrip(d time.Duration) riotsim.Latency { return riotsim.Latency{Up: d / 2, Down: d / 2} }

// TestAlternatingDelay has a delay of 400 or 20 ms, call by call: once that is
// learned, no interval is over the limit.
func TestAlternatingDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: "100:1,5000:60"}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Windows: riotsim.Sliding,
			Latency: riotsim.Latency{Of: func(n uint64) (up, down time.Duration) {
				d := []time.Duration{20, 400}[n%2] * time.Millisecond
				return d / 2, d / 2
			}},
		}, riftrelay.Config{AdmissionTimeout: -1})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Minute, stop)
		backlog(ctx, t, s.client, 200, byPUUID).Wait()
		s.mustHold(t)
	})
}

// TestLostPackets has one call in fifty delayed by a retransmission of 200 ms
// to 1 s on its way up, on a line of 30 ms. Nothing tells of it before: the
// bound is what we reach, published in docs/performance.md.
func TestLostPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: "500:10"}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
			Latency: riotsim.Latency{Of: func(n uint64) (up, down time.Duration) {
				if n%50 == 17 {
					return 200*time.Millisecond + time.Duration(n*7919%800)*time.Millisecond, 15 * time.Millisecond
				}
				return 15 * time.Millisecond, 15 * time.Millisecond
			}},
		}, riftrelay.Config{AdmissionTimeout: -1})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Minute, stop)
		backlog(ctx, t, s.client, 600, byPUUID).Wait()
		if n := s.violations.Load(); n > 2 {
			t.Errorf("%d own 429s in 10 minutes", n)
		}
		r := s.edge.Report()
		use := float64(r.Accepted) / (50 * 10 * 60)
		t.Logf("%d own 429s in 10 minutes, use %.4f", s.violations.Load(), use)
		if use < 0.95 {
			t.Errorf("use %.4f", use)
		}
	})
}

// TestDelayFallsUnforeseen lets the delay fall from 400 to 20 ms after a quarter of an hour:
// what it was like before is forgotten. The bound is what we reach.
func TestDelayFallsUnforeseen(t *testing.T) {
	for _, limits := range []string{"20:1,100:120", "500:10", "100:1"} {
		t.Run(limits, func(t *testing.T) {
			if thinned(t, 4) {
				return
			}
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, riotsim.Config{
					AppLimits: []riotsim.Rule{{Limit: limits}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Latency: roundTrip(400 * time.Millisecond),
				}, riftrelay.Config{AdmissionTimeout: -1})
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(15*time.Minute, func() { s.edge.SetLatency(roundTrip(20 * time.Millisecond)) })
				time.AfterFunc(18*time.Minute, stop)
				backlog(ctx, t, s.client, 120, byPUUID).Wait()
				t.Logf("%d own 429s", s.violations.Load())
				if n := s.violations.Load(); n > 5 {
					t.Errorf("%d own 429s when the delay fell", n)
				}
			})
		})
	}
}
