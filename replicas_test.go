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

func TestReplicasUseTheLimitTogether(t *testing.T) {
	for _, set := range []struct {
		app string
		n   int
		w   time.Duration
	}{{"20:1,100:120", 100, 120 * time.Second}, {"500:10,30000:600", 500, 10 * time.Second}, {"100:1", 100, time.Second}} {
		for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
			t.Run(fmt.Sprintf("%s/b=%v", set.app, pacing), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFlock(t, riotsim.Config{
						AppLimits: []riotsim.Rule{{Limit: set.app}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Windows: riotsim.Sliding,
						Latency: riotsim.Latency{Up: 25 * time.Millisecond, Down: 25 * time.Millisecond},
					}, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1}, 200*time.Microsecond, 2*time.Millisecond, 20*time.Millisecond)
					ctx, stop := context.WithCancel(t.Context())
					cycles, skipped := 8, 2
					if set.w == time.Second {
						cycles, skipped = 20, 5
					}
					time.AfterFunc(time.Duration(float64(cycles+1)*1.2*float64(set.w)), stop)
					var wg sync.WaitGroup
					for _, r := range f.replicas {
						r.load(ctx, &wg, set.n, byPUUID)
					}
					wg.Wait()
					f.mustHold(t)
					arrivals := f.edge.Arrivals()
					first, last := skipped*set.n, cycles*set.n
					if last >= len(arrivals) {
						t.Fatalf("%d arrivals, want more than %d", len(arrivals), last)
					}
					use := float64(cycles-skipped) * float64(set.w) / float64(arrivals[last].Time.Sub(arrivals[first].Time))
					shares := []float64{}
					for _, r := range f.replicas {
						shares = append(shares, float64(r.served.Load()))
					}
					t.Logf("use %.4f, fairness %.4f of %v", use, jain(shares), shares)
					want := 0.98
					if set.w == time.Second {
						// A charge of one second lasts until the answer's head, 50 ms, and
						// a slot of 2 ms; its report takes half a trip to the store, 4 ms
						// on average: 1/1.056 is 0.947.
						want = 0.945
						if pacing == riftrelay.PacingSpread {
							// A permit takes up room from when it is granted. With
							// spread that is up to 20 ms and twice the trip before it
							// starts, on average half of that, 17 ms: 1/1.073 is 0.932.
							want = 0.93
						}
					}
					if use < want || jain(shares) < 0.95 {
						t.Errorf("use %.4f, fairness %.4f; want at least %.2f and 0.95", use, jain(shares), want)
					}
				})
			})
		}
	}
}

func TestStoreAwayAndBack(t *testing.T) {
	for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
		t.Run(fmt.Sprint("b=", pacing), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				f := loadedFlock(t, pacing, 180*time.Second, func(f *flock) {
					time.Sleep(65 * time.Second)
					f.away.Store(true)
					time.Sleep(60 * time.Second)
					f.away.Store(false)
				})
				f.mustHold(t)
				// The method's 2000 in 60 s bind.
				if n := f.between(began, 65*time.Second, 125*time.Second); n < 1600 {
					t.Errorf("%d calls while the store was away, want at least 1,600 of 2,000", n)
				} else {
					t.Logf("%d of 2,000 calls while the store was away", n)
				}
				n := f.between(began, 127*time.Second, 178*time.Second)
				t.Logf("%d of %d calls after its return", n, 2000*51/60)
			})
		})
	}
}

func TestStoreForgets(t *testing.T) {
	for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
		t.Run(fmt.Sprint("b=", pacing), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := loadedFlock(t, pacing, 130*time.Second, func(f *flock) {
					for range 5 {
						time.Sleep(21 * time.Second)
						f.store.Forget()
					}
				})
				f.mustHold(t)
			})
		})
	}
}
