package replicas

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// ticking is a store in this process whose clock runs, ahead or behind.
func ticking(t *testing.T) (url string, ahead *atomic.Int64) {
	t.Helper()
	mini := miniredis.RunT(t)
	ahead = new(atomic.Int64)
	tick := time.NewTicker(time.Millisecond)
	ended, stop := make(chan struct{}), make(chan struct{})
	set := func() { mini.SetTime(time.Now().Add(time.Duration(ahead.Load()))) }
	set()
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				set()
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-ended; tick.Stop() })
	return "redis://" + mini.Addr(), ahead
}

// The store's clock jumps under a backlog: each replica goes on within its share
// for as long, nothing is over the limit, and nobody stands still.
func TestStoreClockJumps(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{2 * time.Second, -2 * time.Second, 60 * time.Second, -60 * time.Second} {
		t.Run(fmt.Sprint(jump), func(t *testing.T) {
			t.Parallel()
			url, ahead := ticking(t)
			r := newRig(t, limitText)
			r.planned = 1
			r.startAll(url, url)
			all := r.backlog(12)
			time.Sleep(3 * time.Second)
			ahead.Add(int64(jump))
			from := time.Now()
			time.Sleep(10 * time.Second)
			to := time.Now()
			use, dead := r.rate(from.Add(window), to)/limitRate, r.longestPause(from, to)
			r.most(0)
			r.noFailures(all...)
			if use < least(0.6) || dead > window && !starved() {
				t.Errorf("use of the limit %.1f %%, nothing went for %v", 100*use, dead)
			}
			measured(t, "the store's clock jumps by %v: use %.1f %% of the limit from 2 s to 10 s after it, nothing went for %v at most; own 429s %d", jump, 100*use, ms(dead), r.violations())
		})
	}
}

// longestPause returns for how long nothing was accepted, at most.
func (r *rig) longestPause(from, to time.Time) (d time.Duration) {
	last := from
	for _, a := range r.edge.Arrivals() {
		if a.Accepted && a.Time.After(from) && a.Time.Before(to) {
			d, last = max(d, a.Time.Sub(last)), a.Time
		}
	}
	return max(d, to.Sub(last))
}
