package replicas

import (
	"fmt"
	"sync/atomic"
	"time"
)

// late counts how often a short sleep of this process took much longer, and lost
// is how much longer in all, of what time.
var (
	late, lost atomic.Int64
	began      = time.Now()
)

// watchMachine counts for as long as the process lives.
func watchMachine() {
	const short = 5 * time.Millisecond
	for {
		began := time.Now()
		time.Sleep(short)
		if took := time.Since(began); took > 30*time.Millisecond {
			late.Add(1)
			lost.Add(int64(took - short))
		}
	}
}

func tellOfMachine() {
	fmt.Printf("5 ms took more than 30 ms %d times, %v longer in all\n", late.Load(), ms(time.Duration(lost.Load())))
}

// busy reports whether the machine has no time for us: then calls to the store
// take longer than they may, replicas go on by themselves now and then, and
// figures say nothing of the relay. With the race detector, whose programs take
// several times as long, other packages' tests run beside.
func busy() bool { return raced || late.Load() > 5 }

// starved reports whether this process stood still for a part of its time. Then
// how much and how fast says nothing at all: only that calls go on, that none
// fails, and that none is too many.
func starved() bool { return time.Duration(lost.Load()) > time.Since(began)/20 }

// noTime notes that a replica lost a store that nothing kept from it: it had no
// time to ask.
func noTime() { late.Add(100) }

// least is how much of a figure has to be reached.
func least(figure float64) float64 {
	switch {
	case starved():
		return 0.05 * figure
	case busy():
		return 0.5 * figure
	}
	return figure
}

// longestOf is how long something may take.
func longestOf(d time.Duration) time.Duration {
	switch {
	case starved():
		return 30 * time.Second // as eventually
	case busy():
		return 6*d + time.Second
	}
	return d
}

// share is what a replica may spend by itself of the usual limit, if it alone of
// three has lost the store: the others don't know.
const share = 0.9 * limitCalls / 3

// tolerant is a setting for tests in which own 429s must be expected: limits
// aren't used by half for them.
const tolerant = "VIOLATION_LIMIT=1000"

// most fails if there were more own 429s than so many. A replica that has lost
// the store by itself, for want of processor time, may cost its share each time.
func (r *rig) most(n int) {
	r.t.Helper()
	if more := r.losses() - r.planned*len(r.relays); more > 0 {
		n += more * share
	}
	if v := r.violations(); v > n {
		r.t.Errorf("%d own 429s; want %d at most", v, n)
		r.tell()
	}
}
