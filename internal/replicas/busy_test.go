package replicas

import (
	"sync/atomic"
	"time"
)

// late counts how often a short sleep of this process took much longer.
var late atomic.Int64

// watchMachine counts for as long as the process lives.
func watchMachine() {
	for {
		began := time.Now()
		time.Sleep(5 * time.Millisecond)
		if time.Since(began) > 30*time.Millisecond {
			late.Add(1)
		}
	}
}

// busy reports whether the machine has no time for us: then calls to the store
// take longer than they may, replicas go on by themselves now and then, and
// figures say nothing of the relay. With the race detector, whose programs take
// several times as long, other packages' tests run beside.
func busy() bool { return raced || late.Load() > 5 }

// noTime notes that a replica lost a store that nothing kept from it: it had no
// time to ask.
func noTime() { late.Add(100) }

// least is how much of a figure has to be reached.
func least(figure float64) float64 {
	if busy() {
		return 0.5 * figure
	}
	return figure
}

// longestOf is how long something may take.
func longestOf(d time.Duration) time.Duration {
	if busy() {
		return 6*d + time.Second
	}
	return d
}

// share is what a replica may spend by itself of the usual limit, if it alone of
// three has lost the store: the others don't know.
const share = 0.9 * limitCalls / 3

// lateArrivals is how many calls more may seem to be too many on a machine that
// is busy: the edge, in this process, has no time to note when they came, and
// replicas lose the store for a moment, each by itself. Half of a share.
const lateArrivals = share / 2

// tolerant is a setting for tests in which own 429s must be expected: limits
// aren't used by half for them.
const tolerant = "VIOLATION_LIMIT=1000"

// most fails if there were more own 429s than so many. Where the test doesn't
// take the store from all replicas, one of them may have lost it by itself.
func (r *rig) most(n int) {
	r.t.Helper()
	if !r.planned && r.losses() > 0 {
		n += share
	}
	if busy() {
		n += lateArrivals
	}
	if v := r.violations(); v > n {
		r.t.Errorf("%d own 429s; want %d at most", v, n)
		r.tell()
	}
}
