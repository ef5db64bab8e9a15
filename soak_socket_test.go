package riftrelay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// TestSoakOverSockets has the cases of TestSoak over real sockets, with the
// windows made short: every set of limits, kind of window and pacing, with calls
// that hang, are cancelled, reset or cut off, with 5xx, every 429 of Riot's own
// and a delay that varies. By the edge's account no interval is over a limit.
func TestSoakOverSockets(t *testing.T) {
	limits := [][2]string{
		{"20:1,60:4", riotsim.NoLimit},
		{"100:2,400:20", "20:2"},
		{"100:1", riotsim.NoLimit},
		{"50:2", "15:2"},
		{"7:1,20:4", "10:1,30:6"},
	}
	const (
		lasts    = 8 * time.Second
		perLimit = 3
	)
	together := len(limits) * perLimit
	if raceEnabled {
		together = 5
	}
	places := make(chan struct{}, together)
	var all sync.WaitGroup
	for i := range len(limits) * perLimit {
		s := newSocketSoak(t, fmt.Sprint("seed ", i), limits[i%len(limits)], rand.New(rand.NewPCG(uint64(i), 5)))
		all.Go(func() {
			places <- struct{}{}
			s.run(lasts)
			<-places
		})
	}
	all.Wait()
}

// socketSoak is an edge on a port, and the callers of one case.
type socketSoak struct {
	counting
	t       named
	r       *rand.Rand
	edge    *riotsim.Edge
	limiter *riftrelay.Limiter
	client  *http.Client
}

func newSocketSoak(t *testing.T, name string, limits [2]string, r *rand.Rand) *socketSoak {
	t.Helper()
	edge, err := riotsim.New(riotsim.Config{
		Table: table, Body: riotsim.Tiny, Arrivals: -1, Seed: r.Uint64(),
		AppLimits: []riotsim.Rule{{Limit: limits[0]}}, MethodLimits: []riotsim.Rule{{Limit: limits[1]}},
		Windows: []riotsim.WindowKind{riotsim.Fixed, riotsim.Sliding, riotsim.Aligned}[r.IntN(3)],
		Order:   riotsim.Shuffled,
		Latency: riotsim.Latency{Up: 10 * time.Millisecond, UpJitter: 50 * time.Millisecond, Down: 10 * time.Millisecond, DownJitter: 100 * time.Millisecond},
		Faults: []riotsim.Fault{
			{Hang: 3 * time.Second, Chance: 0.01},
			{Reset: true, Chance: 0.02}, {Truncate: true, Chance: 0.02}, {SlowBody: 200 * time.Millisecond, Chance: 0.02},
			{Status: 503, Chance: 0.02}, {Gateway: true, Chance: 0.01}, {Bare: true, Chance: 0.02}, {Status: 404, Chance: 0.05},
			{Kind: riotsim.Application, Wait: time.Second, Skip: 6, Times: 1}, {Kind: riotsim.Method, Wait: time.Second, Skip: 8, Times: 1},
			{Kind: riotsim.Service, Wait: time.Second, Skip: 2, Times: 1}, {Kind: riotsim.Server, Wait: time.Second, Skip: 10, Times: 1}, {Kind: riotsim.Untyped, Skip: 4, Times: 1},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &socketSoak{t: named{t, name + " " + limits[0] + " " + limits[1]}, r: r, edge: edge}
	var keys []riftrelay.Key
	for i := range 1 + r.IntN(2) {
		keys = append(keys, riftrelay.Key{Value: fmt.Sprint(oneKey, i)})
	}
	s.limiter, err = riftrelay.New(riftrelay.Config{
		Table: table, Keys: keys, Pacing: pacings[r.IntN(len(pacings))], AdmissionTimeout: -1, Margin: busyMachine, Hooks: hooksOf(s),
	})
	if err != nil {
		t.Fatal(err)
	}
	base := riftrelay.NewBase(riftrelay.BaseOptions{})
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := edge.Serve(l); err != nil {
			s.t.Errorf("%v", err)
		}
	}()
	t.Cleanup(func() { s.limiter.Close(); base.CloseIdleConnections(); edge.Close(); <-served })
	s.client = &http.Client{Transport: &riftrelay.Transport{
		Limiter: s.limiter, Base: base, Upstream: "http://" + l.Addr().String(), Timeout: 10 * time.Second,
		Retry: riftrelay.Retry{Statuses: []int{503}, Reset: true, Timeout: true},
	}}
	return s
}

func (s *socketSoak) run(lasts time.Duration) {
	ctx, stop := context.WithCancel(s.t.Context())
	time.AfterFunc(lasts, stop)
	var callers sync.WaitGroup
	for range 20 + s.r.IntN(40) {
		r := rand.New(rand.NewPCG(s.r.Uint64(), 6))
		callers.Go(func() { s.caller(ctx, r) })
	}
	callers.Wait()
	s.judge()
}

// caller makes one call after the other.
func (s *socketSoak) caller(ctx context.Context, r *rand.Rand) {
	urls := []string{byPUUID, mastery, status}
	for ctx.Err() == nil {
		one, cancel := context.WithCancel(riftrelay.WithOptions(ctx, riftrelay.Options{Priority: riftrelay.Priority(r.IntN(2))}))
		if r.IntN(20) == 0 { // given up, wherever it is by then
			time.AfterFunc(time.Duration(r.Int64N(int64(time.Second))), cancel)
		}
		_, _, err := call(one, s.client, http.MethodGet, urls[r.IntN(len(urls))], "")
		cancel()
		if rejected := (*riftrelay.RejectedError)(nil); errors.As(err, &rejected) {
			s.t.Errorf("nothing may be rejected here: %v", err)
			return
		}
		if r.IntN(3) == 0 {
			time.Sleep(time.Duration(r.Int64N(int64(300 * time.Millisecond))))
		}
	}
}

func (s *socketSoak) judge() {
	r := s.edge.Report()
	if r.Violations > 0 || s.violations.Load() > int64(r.Rejected.Application+r.Rejected.Method) {
		s.t.Errorf("%d own 429s, %d seen", r.Violations, s.violations.Load())
	}
	for _, iv := range s.edge.WorstIntervals() {
		if iv.Over() {
			s.t.Errorf("over the limit: %+v", iv)
		}
	}
	if int64(r.Arrived) > s.admissions.Load() {
		s.t.Errorf("%d arrived on %d admissions", r.Arrived, s.admissions.Load())
	}
	if k := r.Rejected; r.Accepted < 15 || k.Application*k.Method*k.Service*k.Server*k.Untyped == 0 {
		s.t.Errorf("%d calls got through, 429s %+v; want 15, and every kind", r.Accepted, k)
	}
	if snap := s.limiter.Snapshot(); snap.InFlight != 0 || snap.Queued != 0 {
		s.t.Errorf("left over: %d in flight, %d queued", snap.InFlight, snap.Queued)
	}
	s.t.Logf("%s: %d of %d arrived and were accepted; %+v, %d resets", s.t.name, r.Accepted, r.Arrived, r.Rejected, r.Resets)
}
