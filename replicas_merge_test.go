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
)

// forgetful is a way to the store on which the next answers to what was spent
// without it are lost.
type forgetful struct {
	limit.Store
	lose, merges *atomic.Int64
}

func (s forgetful) Admit(ctx context.Context, ask *limit.Ask) (limit.Reply, error) {
	r, err := s.Store.Admit(ctx, ask)
	if ask.Merge == nil || err != nil {
		return r, err
	}
	s.merges.Add(1)
	if s.lose.Add(-1) >= 0 {
		<-ctx.Done()
		return limit.Reply{}, ctx.Err()
	}
	return r, nil
}

// What was spent without the store is charged once, however many answers are
// lost when it is told, and whether or not the store has forgotten meanwhile.
func TestLostAnswersToWhatWasSpentAlone(t *testing.T) {
	const rate, away, after = 1000. / 120, 60 * time.Second, 58 * time.Second
	for _, lost := range []int64{0, 1, 3} {
		for _, forgets := range []bool{false, true} {
			t.Run(fmt.Sprintf("lost=%d/forgets=%v", lost, forgets), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					evenly := patient
					evenly.Pacing = riftrelay.PacingSpread // else what frees up after the pause depends on when it came
					f := newFlock(t, oneLimit("1000:120"), evenly)
					var left, merges atomic.Int64
					f.wrap = func(s limit.Store) limit.Store { return forgetful{Store: s, lose: &left, merges: &merges} }
					f.add(t, time.Millisecond)
					during(t, 140*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
						f.replicas[0].load(ctx, wg, 50, byPUUID)
						time.Sleep(10 * time.Second)
						f.away.Store(true)
						time.Sleep(away)
						left.Store(lost)
						if forgets {
							f.store.Forget()
						}
						f.away.Store(false)
					})
					f.mustHold(t)
					n := f.between(began, 72*time.Second, 72*time.Second+after)
					t.Logf("%d of %.0f calls in the %v after; told %d times", n, after.Seconds()*rate, after, merges.Load())
					if merges.Load() <= lost || float64(n) < 0.8*after.Seconds()*rate {
						t.Errorf("%d calls; want at least 80 %% of %.0f", n, after.Seconds()*rate)
					}
				})
			})
		}
	}
}
