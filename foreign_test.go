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

// TestOthersOnTheKey shares the key with a consumer that takes a part of it,
// of which nothing is known but Riot's counts.
func TestOthersOnTheKey(t *testing.T) {
	for _, set := range []struct {
		limit string
		n     int
		w     time.Duration
		most  float64 // own 429s a minute
	}{
		{"20:1,100:120", 100, 120 * time.Second, 0.1},
		{"500:10", 500, 10 * time.Second, 2},
		{"100:1", 100, time.Second, 10},
	} {
		for _, share := range []float64{0.5, 0.95} {
			for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
				t.Run(fmt.Sprintf("%s/%v/b=%v", set.limit, share, pacing), func(t *testing.T) {
					if thinned(t, 4) {
						return
					}
					synctest.Test(t, func(t *testing.T) {
						s := simulate(t, riotsim.Config{
							AppLimits: []riotsim.Rule{{Limit: set.limit}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
							Latency: delays[1].latency,
						}, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1})
						ctx, stop := context.WithCancel(t.Context())
						// 429s of 1 s windows come in clusters, so that five minutes differ by half.
						minutes := max(5, 20/set.w.Seconds(), 10*set.w.Minutes())
						time.AfterFunc(time.Duration(minutes*float64(time.Minute)), stop)
						r := mustMatch(t, byPUUID)
						rnd := rand.New(rand.NewPCG(1, 2))
						theirs := 0
						var wg sync.WaitGroup
						wg.Go(func() { // calls at random, on average share of the limit
							for ctx.Err() == nil {
								gap := rnd.ExpFloat64() * float64(set.w) / (share * float64(set.n))
								time.Sleep(time.Duration(gap))
								if s.edge.Arrive(time.Now(), riotsim.Call{Key: oneKey, Host: r.Host, Method: r.Method}).Accepted {
									theirs++
								}
							}
						})
						backlog(ctx, t, s.client, 2*set.n+20, byPUUID).Wait()
						wg.Wait()
						rep := s.edge.Report()
						perMinute := float64(s.violations.Load()) / minutes
						t.Logf("own 429s a minute %.2f; accepted: others %d, ours %d of %.0f left", perMinute, theirs, rep.Accepted-theirs,
							float64(set.n)*minutes*float64(time.Minute)/float64(set.w)-float64(theirs))
						if perMinute > set.most {
							t.Errorf("%.2f own 429s a minute, want at most %.2f", perMinute, set.most)
						}
					})
				})
			}
		}
	}
}
