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

// TestReplicasBesideOthers is TestOthersOnTheKey for two replicas: a consumer that
// nobody knows of takes a part of the key. Own 429s are as rare as in one process,
// and with windows long enough to follow its counts nearly all that it leaves is used.
func TestReplicasBesideOthers(t *testing.T) {
	for _, set := range []struct {
		limit string
		n     int
		w     time.Duration
		most  float64 // own 429s a minute
		least float64 // of what the consumer leaves
	}{
		{"500:10", 500, 10 * time.Second, 2, 0.8},
		{"100:1", 100, time.Second, 10, 0},
		{"20:1,100:120", 100, 120 * time.Second, 0.3, 0.95},
	} {
		for _, share := range []float64{0.5, 0.95} {
			for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
				t.Run(fmt.Sprintf("%s/%v/b=%v", set.limit, share, pacing), func(t *testing.T) {
					if thinned(t, 4) {
						return
					}
					synctest.Test(t, func(t *testing.T) {
						lib := patient
						lib.Pacing = pacing
						cfg := oneLimit(set.limit)
						cfg.Latency, cfg.Windows = delays[1].latency, riotsim.Fixed
						f := newFlock(t, cfg, lib, time.Millisecond, 10*time.Millisecond)
						r := mustMatch(t, byPUUID)
						rnd := rand.New(rand.NewPCG(1, 2))
						minutes := max(5, 20/set.w.Seconds(), 10*set.w.Minutes()) // as in TestOthersOnTheKey
						theirs := 0
						during(t, time.Duration(minutes*float64(time.Minute)), func(ctx context.Context, wg *sync.WaitGroup) {
							for _, x := range f.replicas {
								x.load(ctx, wg, set.n+10, byPUUID)
							}
							wg.Go(func() {
								for ctx.Err() == nil {
									gap := rnd.ExpFloat64() * float64(set.w) / (share * float64(set.n))
									time.Sleep(time.Duration(gap))
									if f.edge.Arrive(time.Now(), riotsim.Call{Key: "RGAPI-sim", Host: r.Host, Method: r.Method}).Accepted {
										theirs++
									}
								}
							})
						})
						ours := f.replicas[0].served.Load() + f.replicas[1].served.Load()
						own := f.replicas[0].base.own.Load() + f.replicas[1].base.own.Load()
						perMinute := float64(own) / minutes
						left := float64(set.n)*minutes*float64(time.Minute)/float64(set.w) - float64(theirs)
						t.Logf("own 429s a minute %.2f; accepted: others %d, ours %d of %.0f left", perMinute, theirs, ours, left)
						if perMinute > set.most {
							t.Errorf("%.2f own 429s a minute, want at most %.2f", perMinute, set.most)
						}
						if float64(ours) < set.least*left {
							t.Errorf("%d of the %.0f calls that the others left", ours, left)
						}
					})
				})
			}
		}
	}
}
