package riftrelay_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// busyWithHigh is a limit that is used in full, and calls of high priority that
// come beside it.
var busyWithHigh = []struct {
	app   string
	n     int // the limit that binds: n calls in w
	w     time.Duration
	every time.Duration // one high-priority call
}{
	{"100:10", 100, 10 * time.Second, 500 * time.Millisecond},
	{"500:10", 500, 10 * time.Second, 500 * time.Millisecond},
	{"20:1,100:120", 100, 120 * time.Second, 5 * time.Second},
}

// waits are how long calls of high priority waited.
type waits struct {
	mu   sync.Mutex
	list []time.Duration
}

func (w *waits) Admission(_ context.Context, e riftrelay.AdmissionEvent) {
	if e.Priority == riftrelay.High {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.list = append(w.list, e.Waited)
	}
}

// call makes one such call in each period, at a random moment of it, until ctx
// ends.
func (w *waits) call(ctx context.Context, wg *sync.WaitGroup, client *http.Client, every time.Duration) {
	high := riftrelay.WithOptions(ctx, riftrelay.Options{Priority: riftrelay.High})
	rnd := rand.New(rand.NewPCG(1, 2))
	wg.Go(func() {
		for tick := time.NewTicker(every); ; {
			select {
			case <-tick.C:
			case <-ctx.Done():
				tick.Stop()
				return
			}
			later := time.Duration(rnd.Int64N(int64(every)))
			wg.Go(func() {
				time.Sleep(later)
				get(high, client, byPUUID)
			})
		}
	})
}

// p99 returns the wait that one call in a hundred exceeded.
func (w *waits) p99() time.Duration {
	slices.Sort(w.list)
	return w.list[len(w.list)*99/100]
}

// TestHighPriorityFindsRoom keeps normal calls waiting on a full limit for ten
// minutes: a call of high priority that comes now and then still goes within a
// slot of the schedule, and the limit stays in use.
func TestHighPriorityFindsRoom(t *testing.T) {
	for _, c := range busyWithHigh {
		t.Run(c.app, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w waits
				lib := patient
				lib.Hooks = riftrelay.Hooks{Admission: w.Admission}
				s := simulate(t, oneLimit(c.app), lib)
				during(t, 2*c.w+10*time.Minute, func(ctx context.Context, wg *sync.WaitGroup) {
					for range 2*c.n + 20 {
						wg.Go(func() {
							for ctx.Err() == nil {
								get(ctx, s.client, byPUUID)
							}
						})
					}
					time.Sleep(2 * c.w) // until the limit is full
					w.call(ctx, wg, s.client, c.every)
				})
				s.mustHold(t)
				mustFindRoom(t, &w, s.edge, c.n, c.w)
			})
		})
	}
}

func mustFindRoom(t *testing.T, w *waits, edge *riotsim.Edge, n int, length time.Duration) {
	t.Helper()
	p99, most := w.p99(), length/time.Duration(n)+50*time.Millisecond
	// Of the last ten minutes, as far as they hold whole windows.
	arrivals := edge.Arrivals()
	last := arrivals[len(arrivals)-1].Time
	windows := 10 * time.Minute / length
	used := 0
	for _, a := range arrivals {
		if a.Time.After(last.Add(-windows * length)) {
			used++
		}
	}
	use := float64(used) / float64(int(windows)*n)
	t.Logf("%d high calls: p50 %v, p99 %v, most %v; use %.4f", len(w.list), w.list[len(w.list)/2], p99, w.list[len(w.list)-1], use)
	if p99 > most {
		t.Errorf("p99 of the wait is %v, want %v at the most", p99, most)
	}
	if use < 0.98 {
		t.Errorf("use %.4f, want at least 0.98", use)
	}
}
