package riftrelay_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/internal/limit"
	"riftrelay/riotsim"
)

// Replicas that start while the store is away don't know how many there are.
// They go by Riot's counts and leave the others theirs.
func TestReplicasStartWithoutTheStore(t *testing.T) {
	for _, late := range []int{1, 2} {
		for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
			t.Run(fmt.Sprintf("%d/b=%v", late, pacing), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					lib := patient
					lib.Pacing = pacing
					f := newFlock(t, oneLimit("100:10"), lib, time.Millisecond, time.Millisecond)
					during(t, 240*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
						for _, r := range f.replicas {
							r.load(ctx, wg, 60, byPUUID)
						}
						time.Sleep(20 * time.Second)
						f.away.Store(true)
						time.Sleep(5 * time.Second)
						for range late {
							f.add(t, time.Millisecond).load(ctx, wg, 60, byPUUID)
						}
					})
					own, n := f.edge.Report().Violations, f.between(began, 30*time.Second, 240*time.Second)
					shares := []int64{}
					for _, r := range f.replicas {
						shares = append(shares, r.served.Load())
					}
					t.Logf("%d own 429s, %d calls of 2100, by replica %v", own, n, shares)
					if own > 4 {
						t.Errorf("%d own 429s in 3.5 minutes", own)
					}
					if n < 1600 {
						t.Errorf("%d calls in 3.5 minutes, want most of 2100", n)
					}
				})
			})
		}
	}
}

// A share of less than one call is a call now and then.
func TestShareOfLessThanACall(t *testing.T) {
	for _, c := range []struct {
		limit    string
		n        int // of it, in five minutes
		replicas int
	}{{"10:60", 50, 9}, {"1:10", 30, 3}, {"1:10", 30, 2}, {"10:60", 50, 10}, {"10:60", 50, 12}, {"20:10", 600, 30}} {
		t.Run(fmt.Sprintf("%s/%d", c.limit, c.replicas), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				cfg := oneLimit("500:10")
				cfg.MethodLimits = []riotsim.Rule{{Limit: c.limit}}
				trips := make([]time.Duration, c.replicas)
				for i := range trips {
					trips[i] = time.Millisecond
				}
				lib := patient
				lib.Pacing = riftrelay.PacingBurst
				f := newFlock(t, cfg, lib, trips...)
				during(t, 400*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
					for _, r := range f.replicas {
						r.load(ctx, wg, 3, byPUUID)
					}
					time.Sleep(30 * time.Second)
					f.away.Store(true)
				})
				n, own := f.between(began, 100*time.Second, 400*time.Second), f.edge.Report().Violations
				t.Logf("%d of %d calls in five minutes without the store, %d own 429s", n, c.n, own)
				if n < c.n/4 {
					t.Errorf("%d of %d calls", n, c.n)
				}
				if own > 0 {
					t.Errorf("%d own 429s", own)
				}
			})
		})
	}
}

// The store comes back empty and goes away again before all replicas have beaten.
// Each still shares by the number that there were.
func TestStoreForgetsAndGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lib := patient
		lib.Pacing = riftrelay.PacingBurst
		f := newFlock(t, oneLimit("100:2"), lib, time.Millisecond, time.Millisecond, time.Millisecond)
		during(t, 100*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
			for i, r := range f.replicas { // with beats that are apart
				r.load(ctx, wg, 60, byPUUID)
				time.Sleep(time.Duration(i) * 300 * time.Millisecond)
			}
			for range 10 {
				time.Sleep(6 * time.Second)
				f.away.Store(true)
				time.Sleep(time.Second)
				f.store.Forget()
				f.away.Store(false)
				time.Sleep(100 * time.Millisecond)
				f.away.Store(true)
				time.Sleep(1500 * time.Millisecond)
				f.away.Store(false)
			}
		})
		f.mustHold(t)
	})
}

// jumpy is a store whose clock has jumped: it forgets who has beaten, and grants
// nothing for a while.
type jumpy struct {
	limit.Store
	jumped *atomic.Bool
}

type paused struct{}

func (paused) Error() string         { return "its clock has jumped" }
func (paused) Paused() time.Duration { return time.Minute }

func (s *jumpy) Admit(ctx context.Context, ask *limit.Ask) (limit.Reply, error) {
	if s.jumped.Load() {
		return limit.Reply{}, paused{}
	}
	return s.Store.Admit(ctx, ask)
}

func (s *jumpy) Beat(ctx context.Context, replica string, keys []limit.KeyHealth) (limit.Peers, error) {
	p, err := s.Store.Beat(ctx, replica, keys)
	if s.jumped.Load() {
		p.Live, p.Rank = 1, 0 // until all have beaten again
	}
	return p, err
}

// After a jump of the store's clock, the first beats tell of one replica. Each still
// shares by the number that there were.
func TestStoreClockJumpsAndForgetsReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lib := patient
		lib.Pacing = riftrelay.PacingBurst
		f := newFlock(t, oneLimit("100:2"), lib)
		var jumped atomic.Bool
		f.wrap = func(s limit.Store) limit.Store { return &jumpy{Store: s, jumped: &jumped} }
		for range 3 {
			f.add(t, time.Millisecond)
		}
		during(t, 20*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
			for _, r := range f.replicas {
				r.load(ctx, wg, 60, byPUUID)
			}
			time.Sleep(8 * time.Second)
			jumped.Store(true)
			time.Sleep(4 * time.Second) // less than a silent replica is reckoned with
			jumped.Store(false)
		})
		f.mustHold(t)
	})
}
