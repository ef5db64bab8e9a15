package riftrelay_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// scenario disturbs three replicas with a backlog on 100:2 for a minute.
func scenario(t *testing.T, name string, seeds int, lib riftrelay.Config, disturb func(t *testing.T, f *flock, seed int), after func(t *testing.T, f *flock, began time.Time)) {
	for seed := range soaks(seeds) {
		for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
			t.Run(fmt.Sprintf("%s/seed=%d/b=%v", name, seed, pacing), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					lib := lib
					lib.Pacing = pacing
					cfg := oneLimit("100:2")
					cfg.Seed = uint64(seed)
					f := newFlock(t, cfg, lib, 200*time.Microsecond, 2*time.Millisecond, 10*time.Millisecond)
					during(t, time.Minute, func(ctx context.Context, wg *sync.WaitGroup) {
						for _, r := range f.replicas {
							r.load(ctx, wg, 120, byPUUID)
						}
						time.Sleep(20*time.Second + time.Duration(seed)*137*time.Millisecond)
						disturb(t, f, seed)
					})
					after(t, f, began)
				})
			})
		}
	}
}

// recovered holds that the full rate is there again from a moment on.
func recovered(from time.Duration) func(t *testing.T, f *flock, began time.Time) {
	return func(t *testing.T, f *flock, began time.Time) {
		f.mustHold(t)
		f.mustBeFull(t, began, from)
	}
}

func (f *flock) mustBeFull(t *testing.T, began time.Time, from time.Duration) {
	t.Helper()
	span := 58*time.Second - from
	full := 50 * span.Seconds()
	n := float64(f.between(began, from, 58*time.Second))
	t.Logf("%.3f of the full rate", n/full)
	if n < 0.95*full-f.lib.Pacing.Share()*100 { // a window's calls come at once then
		t.Errorf("%v calls from %v on, want %v", n, from, full)
	}
}

// The replica vanishes with permits in its hands: it says nothing any longer.
func TestReplicaDiesInMidGrant(t *testing.T) {
	scenario(t, "dies", 3, patient, func(_ *testing.T, f *flock, _ int) {
		dead := f.replicas[0]
		dead.store.cut.Store(true)
		after := time.Now().Add(2 * time.Minute) // when all is over
		dead.base.until.Store(&after)
	}, recovered(27*time.Second)) // SendBy, J, its claims and a window
}

// A replica that is stopped with permits in its hands, and goes on, sends none
// that is too old.
func TestReplicaStopsAndGoesOn(t *testing.T) {
	scenario(t, "stopped", 3, patient, func(_ *testing.T, f *flock, _ int) {
		until := time.Now().Add(5 * time.Second)
		f.replicas[0].base.until.Store(&until)
	}, recovered(32*time.Second))
}

func TestStoreBecomesSlow(t *testing.T) {
	scenario(t, "slow", 3, patient, func(_ *testing.T, f *flock, _ int) {
		for _, trip := range []time.Duration{90 * time.Millisecond, 200 * time.Millisecond, 30 * time.Millisecond, time.Millisecond} {
			for _, r := range f.replicas {
				r.store.trip.Store(int64(trip))
			}
			time.Sleep(4 * time.Second)
		}
	}, recovered(42*time.Second))
}

// Whom an answer fails goes on alone at once, beside others that have the store:
// over the limit by its share at most. Measured: 102 of 100.
func TestStoreFailsNowAndThen(t *testing.T) {
	scenario(t, "fails", 3, patient, func(_ *testing.T, f *flock, _ int) {
		for _, r := range f.replicas {
			r.store.fails.Store(100)
		}
		time.Sleep(15 * time.Second)
		for _, r := range f.replicas {
			r.store.fails.Store(0)
		}
	}, func(t *testing.T, f *flock, began time.Time) {
		mustKeepToAShare(t, f, 3)
		f.mustBeFull(t, began, 43*time.Second)
	})
}

// Questions arrive, answers are lost: what was granted is charged, and ends.
func TestAnswersOfTheStoreAreLost(t *testing.T) {
	scenario(t, "deaf", 3, patient, func(_ *testing.T, f *flock, _ int) {
		f.replicas[0].store.deaf.Store(true)
		time.Sleep(10 * time.Second)
		f.replicas[0].store.deaf.Store(false)
	}, func(t *testing.T, f *flock, began time.Time) { mustKeepToAShare(t, f, 3) })
}

// One is cut off and goes on with its share, while the others have all: over
// the limit by that share at most.
func TestOneReplicaIsCutOff(t *testing.T) {
	scenario(t, "cut", 2, patient, func(_ *testing.T, f *flock, _ int) {
		f.replicas[0].store.cut.Store(true)
		time.Sleep(25 * time.Second)
		f.replicas[0].store.cut.Store(false)
	}, func(t *testing.T, f *flock, began time.Time) { mustKeepToAShare(t, f, 3) })
}

// mustKeepToAShare allows what is stated for one replica that judges by itself
// beside others: its share, nine tenths divided by their number.
func mustKeepToAShare(t *testing.T, f *flock, replicas int) {
	t.Helper()
	for _, iv := range f.edge.WorstIntervals() {
		t.Logf("own 429s %d, %+v", f.edge.Report().Violations, iv)
		if bound := iv.Limit.N + iv.Limit.N*9/10/replicas; iv.Calls > bound {
			t.Errorf("%d in an interval, the stated bound is %d", iv.Calls, bound)
		}
	}
}

func TestStoreLossClosed(t *testing.T) {
	lib := patient
	lib.StoreLoss = riftrelay.LossClosed
	scenario(t, "closed", 1, lib, func(_ *testing.T, f *flock, _ int) {
		f.away.Store(true)
		time.Sleep(10 * time.Second)
		f.away.Store(false)
	}, func(t *testing.T, f *flock, began time.Time) {
		if n := f.between(began, 22*time.Second, 30*time.Second); n > 0 {
			t.Errorf("%d calls without the store", n)
		}
		recovered(36*time.Second)(t, f, began)
	})
}

// Who starts without the store sends one call at a time until an answer tells.
func TestStoreAwayAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, oneLimit("100:2"), patient)
		f.away.Store(true)
		f.add(t, time.Millisecond)
		began := time.Now()
		during(t, 20*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
			f.replicas[0].load(ctx, wg, 50, byPUUID)
			time.Sleep(10 * time.Second)
			f.away.Store(false)
		})
		f.mustHold(t)
		arrivals := f.edge.Arrivals()
		if len(arrivals) < 2 || arrivals[1].Time.Sub(arrivals[0].Time) < 20*time.Millisecond {
			t.Errorf("the second call did not wait for the first one's answer")
		}
		if n := f.between(began, 4*time.Second, 10*time.Second); n < 200 {
			t.Errorf("%d calls in six seconds without the store", n)
		}
	})
}

// A store that answers beats but no questions is not asked in a loop.
func TestStoreThatOnlyBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, oneLimit("100:2"), patient, time.Millisecond)
		f.replicas[0].store.refuses.Store(true)
		during(t, 10*time.Second, func(ctx context.Context, wg *sync.WaitGroup) { f.replicas[0].load(ctx, wg, 20, byPUUID) })
		f.mustHold(t)
		n := f.replicas[0].store.calls.Load()
		t.Logf("%d questions in 10 s, %d calls served", n, f.replicas[0].served.Load())
		if f.replicas[0].served.Load() < 50 { // each try costs it its view of what is free
			t.Errorf("%d calls served, want some", f.replicas[0].served.Load())
		}
		if n > 100 {
			t.Errorf("%d questions in 10 s to a store that refuses them", n)
		}
	})
}

// TestOneLostQuestionIsNoLoss: where a single call of the store fails, nobody
// goes on by himself, which would take from what the others use.
func TestOneLostQuestionIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := loadedFlock(t, riftrelay.PacingSpread, 60*time.Second, func(f *flock) {
			for range 20 {
				time.Sleep(2 * time.Second)
				r := f.replicas[0]
				for r.store.once.Store(true); r.store.once.Load(); {
					time.Sleep(time.Millisecond)
				}
				for range 200 {
					time.Sleep(time.Millisecond)
					if r.limiter.Snapshot().Store.Alone {
						t.Fatal("the replica goes on by itself")
					}
				}
			}
		})
		f.mustHold(t)
	})
}
