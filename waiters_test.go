package riftrelay_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// TestWaiters100k has a hundred thousand calls wait, half of them leave at
// once, and some of the rest go when the limit grows: the queue's count is
// exact, as many go as fit, and nothing is left behind.
//
// Under the race detector it is 6,000, since that ends a program of more than
// 8,128 goroutines.
func TestWaiters100k(t *testing.T) {
	n, within := 100_000, time.Second
	if raceEnabled {
		n, within = 6_000, 5*time.Second // the detector slows down 5 to 20 times
	}
	leave, fit := n/2, n/5
	// What a machine needs that is busy with other things is told by goroutines
	// that do nothing else.
	within = max(within, 10*parkTogether(n))
	goroutines := runtime.NumGoroutine()
	heap := heapInUse()

	l, routes := limiterWith(t, 1, 1, 1)
	r := routes[0]
	narrow, err := l.Acquire(t.Context(), r, riftrelay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	narrow.Sent()
	// Two calls an hour: the one above, and one that is still under way.
	narrow.Observe(http.StatusOK, http.Header{"X-Method-Rate-Limit": {"2:3600"}})
	underWay, err := l.Acquire(t.Context(), r, riftrelay.Options{})
	if err != nil {
		t.Fatal(err)
	}

	leaving, cancel := context.WithCancel(t.Context())
	left := waitFor(leaving, l, r, leave)
	stay := waitFor(t.Context(), l, r, n-leave)
	queued(t, l, n)

	begin := time.Now()
	cancel()
	left.all.Wait()
	took := time.Since(begin)
	t.Logf("%d of %d left within %v", leave, n, took)
	if took > within {
		t.Errorf("%d of %d were gone after %v, want %v at most", leave, n, took, within)
	}
	if left.canceled != leave {
		t.Errorf("%d of %d ended as cancelled: %+v", left.canceled, leave, left)
	}
	queued(t, l, n-leave)

	// Riot raises the limit: just as many go as now fit, at once.
	underWay.Sent()
	underWay.Observe(http.StatusOK, http.Header{"X-Method-Rate-Limit": {limitOf(2 + fit)}})
	queued(t, l, n-leave-fit)
	if got := l.Snapshot().InFlight; got != fit {
		t.Errorf("%d calls in flight, want %d", got, fit)
	}

	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	stay.all.Wait()
	if len(stay.permits) != fit || stay.closed != n-leave-fit {
		t.Errorf("%d calls were let go and %d rejected by Close, want %d and %d: %+v", len(stay.permits), stay.closed, fit, n-leave-fit, stay)
	}
	for _, p := range stay.permits {
		p.Release()
	}
	queued(t, l, 0)
	if got := l.Snapshot().InFlight; got != 0 {
		t.Errorf("%d calls in flight at the end", got)
	}

	left, stay = nil, nil //nolint:wastedassign // frees them for the count of memory below
	for range 100 {       // goroutines that have called Done still have to return
		if runtime.NumGoroutine() <= goroutines {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := runtime.NumGoroutine(); got > goroutines {
		t.Errorf("%d goroutines at the end, %d at the start", got, goroutines)
	}
	const slack = 8 << 20
	if got := heapInUse(); got > heap+slack {
		t.Errorf("heap of %d KiB at the end, %d KiB at the start", got>>10, heap>>10)
	}
	runtime.KeepAlive(l)
}

// waiters are calls that wait, and what became of them.
type waiters struct {
	all sync.WaitGroup

	mu               sync.Mutex
	permits          []riftrelay.Permit
	canceled, closed int
	other            error
}

// waitFor has n calls of r wait.
func waitFor(ctx context.Context, l *riftrelay.Limiter, r route.Route, n int) *waiters {
	w := new(waiters)
	for range n {
		w.all.Go(func() {
			p, err := l.Acquire(ctx, r, riftrelay.Options{})
			w.mu.Lock()
			defer w.mu.Unlock()
			switch {
			case err == nil:
				w.permits = append(w.permits, p)
			case errors.Is(err, context.Canceled):
				w.canceled++
			case errors.Is(err, riftrelay.ErrClosed):
				w.closed++
			default:
				w.other = err
			}
		})
	}
	return w
}

// queue has n calls of r wait until the function that it returns is called.
func queue(tb testing.TB, l *riftrelay.Limiter, r route.Route, n int) (end func()) {
	tb.Helper()
	p, err := l.Acquire(context.Background(), r, riftrelay.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	p.Sent()
	p.Observe(http.StatusOK, http.Header{"X-Method-Rate-Limit": {"1:3600"}})
	ctx, cancel := context.WithCancel(context.Background())
	w := waitFor(ctx, l, r, n)
	queued(tb, l, n)
	return func() {
		cancel()
		w.all.Wait()
	}
}

// parkTogether has n goroutines at once and ends them: the runtime keeps what it
// made for them, half a kilobyte each, and that isn't ours. It returns how long
// they took to end.
func parkTogether(n int) time.Duration {
	var all sync.WaitGroup
	gate := make(chan struct{})
	for range n {
		all.Go(func() {
			select { // as Acquire waits
			case <-gate:
			case <-make(chan struct{}):
			}
		})
	}
	begin := time.Now()
	close(gate)
	all.Wait()
	return time.Since(begin)
}

// queued waits until n calls wait.
func queued(tb testing.TB, l *riftrelay.Limiter, n int) {
	tb.Helper()
	var got int
	for range 3000 {
		if got = l.Snapshot().Queued; got == n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	tb.Fatalf("%d calls wait, want %d", got, n)
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // what a finalizer or a pool kept is free after the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func limitOf(n int) string { return strconv.Itoa(n) + ":3600" }
