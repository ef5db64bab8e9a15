package riftrelay_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/internal/limit"
	"riftrelay/internal/memstore"
	"riftrelay/riotsim"
)

// layouts are versions of a store's charges on one server: beats and hints are
// common, budgets aren't.
type layouts struct {
	mu   sync.Mutex
	last map[string]time.Time
}

type layout struct {
	limit.Store // of beats
	budgets     limit.Store
	name        string
	all         *layouts
}

func (s *layout) Admit(ctx context.Context, ask *limit.Ask) (limit.Reply, error) {
	return s.budgets.Admit(ctx, ask)
}

func (s *layout) Beat(ctx context.Context, replica string, keys []limit.KeyHealth) (limit.Peers, error) {
	p, err := s.Store.Beat(ctx, replica, keys)
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.last[s.name] = time.Now()
	for name, at := range s.all.last {
		p.Apart = p.Apart || name != s.name && time.Since(at) < 2*time.Minute
	}
	return p, err
}

// Replicas are replaced one by one with those of another version, which keeps
// its charges otherwise: meanwhile each keeps to its share, and nothing is over
// any limit; it is said once; then the new ones share all.
func TestReplicasOfTwoVersions(t *testing.T) {
	for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var told []riftrelay.ChangeEvent
			lib := patient
			lib.Pacing = pacing
			lib.Hooks = riftrelay.Hooks{Change: func(e riftrelay.ChangeEvent) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, e)
			}}
			cfg := riotsim.Config{
				AppLimits: []riotsim.Rule{{Limit: "100:2,500:10"}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Windows: riotsim.Sliding,
				Latency: riotsim.Latency{Up: 20 * time.Millisecond, Down: 20 * time.Millisecond},
			}
			f := newFlock(t, cfg, lib)
			all := &layouts{last: map[string]time.Time{}}
			began := time.Now()
			second := memstore.NewMemoryStore(func() limit.Instant { return limit.Instant(time.Since(began)) })
			version := func(name string, budgets limit.Store) {
				f.wrap = func(s limit.Store) limit.Store { return &layout{Store: s, budgets: budgets, name: name, all: all} }
			}
			var wg sync.WaitGroup
			var stops []context.CancelFunc
			run := func() {
				ctx, stop := context.WithCancel(t.Context())
				stops = append(stops, stop)
				f.add(t, time.Millisecond).load(ctx, &wg, 80, byPUUID)
			}
			version("one", f.store)
			for range 3 {
				run()
			}
			time.Sleep(90 * time.Second)
			version("two", second)
			for i := range 3 {
				run()
				time.Sleep(10 * time.Second)
				stops[i]()
				time.Sleep(time.Second)
				f.replicas[i].limiter.Close()
				time.Sleep(10 * time.Second)
			}
			mixed := f.between(began, 95*time.Second, 150*time.Second)
			time.Sleep(4 * time.Minute)
			end := time.Since(began)
			full := f.between(began, end-60*time.Second, end)
			for _, stop := range stops {
				stop()
			}
			wg.Wait()
			f.mustHold(t)
			t.Logf("b=%v: %d calls in 55 s of both versions, %d in the last minute, of 3,000 in 60 s", pacing, mixed, full)
			if mixed < 1375 || full < 2900 {
				t.Errorf("%d calls in 55 s of both versions, %d in the last minute", mixed, full)
			}
			mu.Lock()
			defer mu.Unlock()
			away, back := 0, 0
			for _, e := range told {
				switch e.Kind {
				case riftrelay.ChangeStoreAway:
					away++
					if !errors.Is(e.Err, riftrelay.ErrOtherVersion) {
						t.Errorf("told %v", e.Err)
					}
				case riftrelay.ChangeStoreBack:
					back++
				}
			}
			if away != 6 || back != 3 {
				t.Errorf("told %d times, and %d times that it is over; want 6, and 3", away, back)
			}
		})
	}
}
