package riftrelay_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/limit"
	"riftrelay/riotsim"
)

// farStore is a store at a distance, which can be cut off.
type farStore struct {
	limit.Store
	trip time.Duration
	away *atomic.Bool
}

func (s farStore) way(ctx context.Context) error {
	select {
	case <-time.After(s.trip / 2):
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.away.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (s farStore) Admit(ctx context.Context, ask *limit.Ask) (limit.Reply, error) {
	if err := s.way(ctx); err != nil {
		return limit.Reply{}, err
	}
	r, err := s.Store.Admit(ctx, ask)
	if err == nil {
		err = s.way(ctx)
	}
	return r, err
}

func (s farStore) Merge(ctx context.Context, b limit.Budget, scopes []limit.Account) error {
	if err := s.way(ctx); err != nil {
		return err
	}
	return s.Store.Merge(ctx, b, scopes)
}

func (s farStore) Beat(ctx context.Context, replica string, keys []limit.KeyHealth) (limit.Peers, error) {
	if err := s.way(ctx); err != nil {
		return limit.Peers{}, err
	}
	return s.Store.Beat(ctx, replica, keys)
}

// flock is replicas on one edge and one store.
type flock struct {
	edge     *riotsim.Edge
	store    *limit.MemoryStore
	away     atomic.Bool
	replicas []*replica
}

type replica struct {
	limiter *riftrelay.Limiter
	client  *http.Client
	served  atomic.Int64
}

// newFlock makes a replica for each of the trips to the store.
func newFlock(t *testing.T, cfg riotsim.Config, lib riftrelay.Config, trips ...time.Duration) *flock {
	t.Helper()
	cfg.Table, cfg.Body, cfg.Arrivals = table, riotsim.Tiny, -1
	edge, err := riotsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	f := &flock{edge: edge, store: limit.NewMemoryStore(func() limit.Instant { return limit.Instant(time.Since(began)) })}
	for i, trip := range trips {
		lib := lib
		lib.Table, lib.Store, lib.Replica = table, farStore{f.store, trip, &f.away}, fmt.Sprint("r", i)
		if lib.Keys == nil {
			lib.Keys = []riftrelay.Key{{Name: "main", Value: "RGAPI-sim"}}
		}
		l, err := riftrelay.New(lib)
		if err != nil {
			t.Fatal(err)
		}
		f.replicas = append(f.replicas, &replica{limiter: l, client: &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: edge.RoundTripper()}}})
	}
	t.Cleanup(func() {
		for _, r := range f.replicas {
			r.limiter.Close()
		}
		f.store.Close()
		edge.Close()
	})
	return f
}

// load keeps n calls of a URL waiting on a replica until ctx ends.
func (r *replica) load(ctx context.Context, wg *sync.WaitGroup, n int, url string) {
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				if get(ctx, r.client, url) == nil {
					r.served.Add(1)
				}
			}
		})
	}
}

func (f *flock) mustHold(t *testing.T) {
	t.Helper()
	if r := f.edge.Report(); r.Violations > 0 {
		t.Errorf("%d own 429s", r.Violations)
	}
	for _, iv := range f.edge.WorstIntervals() {
		if iv.Over() {
			t.Errorf("over the limit: %+v", iv)
		}
	}
}

// jain is Jain's index of fairness: 1 where all have had the same.
func jain(shares []float64) float64 {
	var sum, squares float64
	for _, x := range shares {
		sum, squares = sum+x, squares+x*x
	}
	return sum * sum / (float64(len(shares)) * squares)
}

func TestReplicasUseTheLimitTogether(t *testing.T) {
	for _, set := range []struct {
		app string
		n   int
		w   time.Duration
	}{{"20:1,100:120", 100, 120 * time.Second}, {"500:10,30000:600", 500, 10 * time.Second}, {"100:1", 100, time.Second}} {
		for _, pacing := range []float64{riftrelay.Spread, riftrelay.Burst} {
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
						want = 0.97
					}
					if use < want || jain(shares) < 0.95 {
						t.Errorf("use %.4f, fairness %.4f; want at least %.2f and 0.95", use, jain(shares), want)
					}
				})
			})
		}
	}
}

// loadedFlock is three replicas with a backlog on a production key.
func loadedFlock(t *testing.T, pacing float64, during time.Duration, disturb func(f *flock)) *flock {
	f := newFlock(t, riotsim.Config{
		AppLimits: []riotsim.Rule{{Limit: "500:10,30000:600"}}, MethodLimits: []riotsim.Rule{{Limit: "2000:60"}}, Windows: riotsim.Sliding,
		Latency: riotsim.Latency{Up: 20 * time.Millisecond, UpJitter: 20 * time.Millisecond, Down: 20 * time.Millisecond, DownJitter: 20 * time.Millisecond},
	}, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1}, 200*time.Microsecond, 2*time.Millisecond, 10*time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(during, stop)
	var wg sync.WaitGroup
	for _, r := range f.replicas {
		r.load(ctx, &wg, 300, byPUUID)
	}
	disturb(f)
	wg.Wait()
	return f
}

// between counts the arrivals in a span of time from began.
func (f *flock) between(began time.Time, from, to time.Duration) int {
	n := 0
	for _, a := range f.edge.Arrivals() {
		if at := a.Time.Sub(began); at >= from && at < to {
			n++
		}
	}
	return n
}

func TestStoreAwayAndBack(t *testing.T) {
	for _, pacing := range []float64{riftrelay.Spread, riftrelay.Burst} {
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
	for _, pacing := range []float64{riftrelay.Spread, riftrelay.Burst} {
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
