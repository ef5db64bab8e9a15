package riftrelay_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// A budget's calls on several replicas: each has its part of the budget's share,
// which it uses, and all of them together stay within it.
func TestBudgetsOfReplicas(t *testing.T) {
	const window, share = 10 * time.Second, 75 // of 300
	for _, c := range []struct {
		pacing riftrelay.Pacing
		others int        // calls without a budget that wait on each replica
		least  [2]float64 // of its share, that a replica has in two windows, and in four
	}{
		{riftrelay.PacingSpread, 0, [2]float64{0.95, 0.95}},
		{riftrelay.PacingSpread, 100, [2]float64{0.95, 0.95}},
		{riftrelay.PacingBurst, 0, [2]float64{0.95, 0.95}},
		// A window's calls go at once: whose budget isn't free again by then has
		// to wait for the next.
		{riftrelay.PacingBurst, 100, [2]float64{0.5, 0.7}},
	} {
		synctest.Test(t, func(t *testing.T) {
			lib := patient
			lib.Pacing = c.pacing
			lib.Budgets = []riftrelay.Budget{{Name: "crawler", Share: 0.25}}
			f := newFlock(t, oneLimit("300:10"), lib, 200*time.Microsecond, 2*time.Millisecond, 10*time.Millisecond)
			time.Sleep(2 * time.Second)
			var mu sync.Mutex
			served := make([][]time.Time, len(f.replicas))
			during(t, 65*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
				for i, r := range f.replicas {
					r.load(ctx, wg, c.others, byPUUID)
					for range 60 {
						wg.Go(func() {
							for ctx.Err() == nil {
								if get(in(ctx, riftrelay.Options{Budget: "crawler"}), r.client, byPUUID) == nil {
									mu.Lock()
									served[i] = append(served[i], time.Now())
									mu.Unlock()
								}
							}
						})
					}
				}
			})
			f.mustHold(t)
			began := time.Now().Add(-65 * time.Second)
			for i, list := range served {
				for _, span := range []int{2, 4} {
					fair := span * share / 3
					for from := began.Add(2 * window); from.Add(time.Duration(span) * window).Before(began.Add(6*window + 1)); from = from.Add(window / 2) {
						n := 0
						for _, at := range list {
							if !at.Before(from) && at.Before(from.Add(time.Duration(span)*window)) {
								n++
							}
						}
						if least := c.least[span/4]; n < int(least*float64(fair)) || n > fair+4+int(c.pacing.Share())*share/3 {
							t.Errorf("b=%v, %d others: replica %d has %d in %d windows, its share is %d", c.pacing, c.others, i, n, span, fair)
						}
					}
				}
			}
		})
	}
}
