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

// soaks returns how many seeds a scenario is played with: more with -soak.
func soaks(few int) int { return few + 10*(*soakHours) }

// oneLimit is an edge with one application limit, and nothing else that counts.
func oneLimit(app string) riotsim.Config {
	return riotsim.Config{
		AppLimits: []riotsim.Rule{{Limit: app}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Windows: riotsim.Sliding,
		Latency: riotsim.Latency{Up: 20 * time.Millisecond, UpJitter: 10 * time.Millisecond, Down: 20 * time.Millisecond, DownJitter: 10 * time.Millisecond},
	}
}

var patient = riftrelay.Config{AdmissionTimeout: -1}

// during has calls made until d is over, and all of them end.
func during(t *testing.T, d time.Duration, do func(ctx context.Context, wg *sync.WaitGroup)) {
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(d, stop)
	var wg sync.WaitGroup
	do(ctx, &wg)
	wg.Wait()
}

func TestSmallDemandNeverStarves(t *testing.T) {
	for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
		t.Run(fmt.Sprint("b=", pacing), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lib := patient
				lib.Pacing = pacing
				f := newFlock(t, oneLimit("100:2"), lib, 200*time.Microsecond, 200*time.Microsecond, 20*time.Millisecond)
				var worst, sum time.Duration
				n := 0
				var mu sync.Mutex
				during(t, 40*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
					f.replicas[0].load(ctx, wg, 500, byPUUID)
					f.replicas[1].load(ctx, wg, 50, byPUUID)
					wg.Go(func() { // 5 a second, of a fair share of 16
						for tick := time.NewTicker(200 * time.Millisecond); ; {
							select {
							case <-tick.C:
							case <-ctx.Done():
								tick.Stop()
								return
							}
							wg.Go(func() {
								began := time.Now()
								if get(ctx, f.replicas[2].client, byPUUID) == nil && began.Before(time.Now().Add(-time.Millisecond)) {
									waited := time.Since(began)
									mu.Lock()
									defer mu.Unlock()
									worst, sum, n = max(worst, waited), sum+waited, n+1
								}
							})
						}
					})
				})
				f.mustHold(t)
				t.Logf("%d calls of 198, %v on average, %v at most; others %d and %d", n, sum/time.Duration(n), worst, f.replicas[0].served.Load(), f.replicas[1].served.Load())
				if n < 180 {
					t.Errorf("the small one had %d of 198 calls", n)
				}
				if worst > 2500*time.Millisecond { // the window, and the call itself
					t.Errorf("it waited %v", worst)
				}
				a, b := float64(f.replicas[0].served.Load()), float64(f.replicas[1].served.Load())
				if a > 1.25*b || b > 1.25*a {
					t.Errorf("the big ones had %v and %v", a, b)
				}
			})
		})
	}
}

func TestEightReplicasAreEven(t *testing.T) {
	for seed := range soaks(1) {
		for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
			t.Run(fmt.Sprintf("seed=%d/b=%v", seed, pacing), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					trips := []time.Duration{200 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 15 * time.Millisecond, 20 * time.Millisecond}
					lib := patient
					lib.Pacing = pacing
					cfg := oneLimit("500:10")
					cfg.Seed = uint64(seed)
					f := newFlock(t, cfg, lib, trips...)
					during(t, 60*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
						for _, r := range f.replicas {
							r.load(ctx, wg, 100, byPUUID)
						}
					})
					f.mustHold(t)
					shares, sum := []float64{}, 0.0
					for _, r := range f.replicas {
						shares = append(shares, float64(r.served.Load()))
						sum += float64(r.served.Load())
					}
					t.Logf("fairness %.4f of %v", jain(shares), shares)
					if jain(shares) < 0.95 {
						t.Errorf("fairness %.4f, want 0.95", jain(shares))
					}
					for i, n := range shares {
						if n < 0.8*sum/8 {
							t.Errorf("replica %d, at %v, had %v of %v", i, trips[i], n, sum/8)
						}
					}
				})
			})
		}
	}
}

func TestHighOfOneReplicaBeforeNormalOfAnother(t *testing.T) {
	for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
		t.Run(fmt.Sprint("b=", pacing), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lib := patient
				lib.Pacing = pacing
				f := newFlock(t, oneLimit("100:2"), lib, 2*time.Millisecond, 2*time.Millisecond)
				during(t, 60*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
					f.replicas[0].load(riftrelay.WithOptions(ctx, riftrelay.Options{Priority: riftrelay.High}), wg, 300, byPUUID)
					f.replicas[1].load(ctx, wg, 300, byPUUID)
				})
				f.mustHold(t)
				high, normal := float64(f.replicas[0].served.Load()), float64(f.replicas[1].served.Load())
				t.Logf("high %v, normal %v: %.1f %%", high, normal, 100*normal/(high+normal))
				if part := normal / (high + normal); part < 0.03 || part > 0.1 {
					t.Errorf("normal had %.1f %%, want about 5", 100*part)
				}
			})
		})
	}
}

func TestFullMethodOfOneReplicaHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := oneLimit("100:2")
		cfg.MethodLimits = append(cfg.MethodLimits, riotsim.Rule{Method: "summoner-v4.getByPUUID", Limit: "2:10"})
		cfg.MethodLimits[1].Method = mustMatch(t, byPUUID).Method.String()
		f := newFlock(t, cfg, patient, time.Millisecond, time.Millisecond)
		during(t, 30*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
			f.replicas[0].load(ctx, wg, 300, byPUUID)
			f.replicas[0].load(riftrelay.WithOptions(ctx, riftrelay.Options{Priority: riftrelay.High}), wg, 300, byPUUID)
			f.replicas[1].load(ctx, wg, 200, mastery)
		})
		f.mustHold(t)
		n := f.replicas[1].served.Load()
		t.Logf("%d of 1,500 calls", n)
		if n < 1350 {
			t.Errorf("%d of 1,500 calls went", n)
		}
	})
}

// At low load the store costs a call one way there and back.
func TestStoreAddsOneTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trip = 20 * time.Millisecond
		cfg := oneLimit("500:10")
		cfg.Latency = riotsim.Latency{Up: 25 * time.Millisecond, Down: 25 * time.Millisecond}
		lib := patient
		lib.Pacing = riftrelay.PacingBurst
		f := newFlock(t, cfg, lib, trip, trip)
		for _, r := range f.replicas {
			for range 5 { // what is to be learned
				get(t.Context(), r.client, byPUUID)
			}
		}
		var sum time.Duration
		const calls = 200
		for i := range calls {
			began := time.Now()
			if err := get(t.Context(), f.replicas[i%2].client, byPUUID); err != nil {
				t.Fatal(err)
			}
			sum += time.Since(began) - 50*time.Millisecond
			time.Sleep(70 * time.Millisecond)
		}
		t.Logf("%v added on average", sum/calls)
		if sum/calls > trip+2*time.Millisecond { // the store counts in whole ones, up
			t.Errorf("%v added on average, want a trip of %v", sum/calls, trip)
		}
	})
}

// What the store is asked depends on what it grants, not on how many wait.
func TestStoreCallsDontGrowWithTheQueue(t *testing.T) {
	rate := map[int]float64{}
	for _, waiters := range []int{10, 2000} {
		synctest.Test(t, func(t *testing.T) {
			f := newFlock(t, oneLimit("500:10"), patient, 2*time.Millisecond, 2*time.Millisecond)
			during(t, 30*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
				for _, r := range f.replicas {
					r.load(ctx, wg, waiters/2, byPUUID)
				}
			})
			f.mustHold(t)
			n := f.replicas[0].store.calls.Load() + f.replicas[1].store.calls.Load()
			rate[waiters] = float64(n) / 30
			t.Logf("%d waiters: %.1f calls a second for %.1f permits", waiters, rate[waiters], float64(f.edge.Report().Arrived)/30)
		})
	}
	if rate[2000] > 1.5*rate[10]+10 {
		t.Errorf("calls a second by waiters: %v", rate)
	}
}
