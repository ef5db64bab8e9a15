package riftrelay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/internal/limit"
	"riftrelay/internal/memstore"
	"riftrelay/riotsim"
)

// farStore is one replica's way to the store, with all that can happen on it.
type farStore struct {
	limit.Store
	rnd   *rand.Rand // under mu
	mu    sync.Mutex
	trip  atomic.Int64 // there and back
	away  *atomic.Bool // nobody reaches the store
	cut   atomic.Bool  // this replica doesn't
	deaf  atomic.Bool  // its questions arrive, answers don't
	fails atomic.Int64 // of so many calls one fails; 0 is none
	calls atomic.Int64

	refuses atomic.Bool // questions, not beats
	once    atomic.Bool // the next question alone

	spoils atomic.Pointer[func(*limit.Reply)] // answers
}

var errStoreFails error = storeFault{}

type storeFault struct{}

func (storeFault) Error() string { return "the store is away: " + storeFault{}.Why() }
func (storeFault) Why() string   { return "it fails" }

// way is half of the trip, up to twice as long where that changes.
func (s *farStore) way(ctx context.Context) error {
	d := time.Duration(s.trip.Load() / 2)
	if fails := s.fails.Load(); fails > 0 {
		s.mu.Lock()
		d += time.Duration(s.rnd.Int64N(int64(d) + 1))
		fails = s.rnd.Int64N(2 * fails)
		s.mu.Unlock()
		if fails == 0 {
			return errStoreFails
		}
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.away.Load() || s.cut.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (s *farStore) back(ctx context.Context) error {
	if s.deaf.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.way(ctx)
}

func (s *farStore) Admit(ctx context.Context, ask *limit.Ask) (limit.Reply, error) {
	s.calls.Add(1)
	if s.refuses.Load() || s.once.Swap(false) {
		return limit.Reply{}, errStoreFails
	}
	if err := s.way(ctx); err != nil {
		return limit.Reply{}, err
	}
	r, err := s.Store.Admit(ctx, ask)
	if spoil := s.spoils.Load(); spoil != nil && err == nil {
		(*spoil)(&r)
	}
	if err == nil {
		err = s.back(ctx)
	}
	return r, err
}

func (s *farStore) Beat(ctx context.Context, replica string, keys []limit.KeyHealth) (limit.Peers, error) {
	if err := s.way(ctx); err != nil {
		return limit.Peers{}, err
	}
	p, err := s.Store.Beat(ctx, replica, keys)
	if err == nil {
		err = s.back(ctx)
	}
	return p, err
}

// flock is replicas on one edge and one store.
type flock struct {
	edge     *riotsim.Edge
	store    *memstore.MemoryStore
	away     atomic.Bool
	lib      riftrelay.Config
	replicas []*replica
	wrap     func(limit.Store) limit.Store // of the next replicas; nil = as it is
}

type replica struct {
	limiter *riftrelay.Limiter
	client  *http.Client
	base    *stalled
	store   *farStore
	served  atomic.Int64
}

// stalled is a base that is stopped for a while before it connects, or farther
// from Riot than others.
type stalled struct {
	base  http.RoundTripper
	until atomic.Pointer[time.Time]
	extra time.Duration // of a round trip
	own   atomic.Int64  // 429s of its own making; the edge counts other consumers' too
}

func (s *stalled) RoundTrip(req *http.Request) (*http.Response, error) {
	if t := s.until.Load(); t != nil {
		time.Sleep(time.Until(*t))
	}
	if s.extra == 0 {
		resp, err := s.base.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusTooManyRequests {
			s.own.Add(1)
		}
		return resp, err
	}
	trace := httptrace.ContextClientTrace(req.Context())
	trace.GotConn(httptrace.GotConnInfo{})
	if err := context.Cause(req.Context()); err != nil {
		return nil, err
	}
	trace.WroteRequest(httptrace.WroteRequestInfo{})
	time.Sleep(s.extra / 2) // what was sent arrives, whoever waits
	resp, err := s.base.RoundTrip(req.WithContext(context.Background()))
	time.Sleep(s.extra / 2)
	return resp, err
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
	f := &flock{edge: edge, lib: lib, store: memstore.NewMemoryStore(func() limit.Instant { return limit.Instant(time.Since(began)) })}
	for _, trip := range trips {
		f.add(t, trip)
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

// add starts one more replica.
func (f *flock) add(t *testing.T, trip time.Duration) *replica {
	t.Helper()
	n := len(f.replicas)
	var judge limit.Store = f.store
	if f.wrap != nil {
		judge = f.wrap(judge)
	}
	store := &farStore{Store: judge, away: &f.away, rnd: rand.New(rand.NewPCG(uint64(n), 9))}
	store.trip.Store(int64(trip))
	lib := f.lib
	lib.Store, lib.Replica = store, fmt.Sprint("r", n)
	if lib.Table == nil {
		lib.Table = table
	}
	if lib.Keys == nil {
		lib.Keys = []riftrelay.Key{{Name: "main", Value: "RGAPI-sim"}}
	}
	l, err := riftrelay.New(lib)
	if err != nil {
		t.Fatal(err)
	}
	base := &stalled{base: f.edge.RoundTripper()}
	r := &replica{limiter: l, store: store, base: base, client: &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: base}}}
	f.replicas = append(f.replicas, r)
	return r
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

// loadedFlock is three replicas with a backlog on a production key.
func loadedFlock(t *testing.T, pacing riftrelay.Pacing, during time.Duration, disturb func(f *flock)) *flock {
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
