package sched

import (
	"runtime"
	"strconv"
	"testing"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// A million addresses, each with a call of its own, cost no more than the calls
// that wait at a time: what is known of a client goes with its last call.
func TestMillionAddressesLeaveNothing(t *testing.T) {
	const addresses, total = 1_000_000, 1000
	m := known(t, Config{Keys: 1, QueueCapacity: 10, QueueTotal: total}, "100:10", "100:10")
	now := hour
	var waiting []*Waiter // the oldest first
	ask := func(i int) {
		w := new(Waiter)
		p, why := m.Enqueue(now, w, Request{Host: "euw1", Method: "/x", Pin: -1, Client: strconv.Itoa(i), Deadline: limit.Never})
		switch {
		case p != nil:
			m.Sent(now, p)
			m.Answer(now, p, window.Answer{Status: 200})
		case why.Reason == None:
			waiting = append(waiting, w)
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	most := 0
	step := func(from, to int) {
		for i := from; i < to; i++ {
			ask(i)
			if len(waiting) > total/2 {
				m.Cancel(waiting[0])
				waiting = waiting[1:]
			}
			most = max(most, len(m.clients))
		}
	}
	step(0, addresses/10)
	before := heap()
	step(addresses/10, addresses)
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	if most > total/2+1 {
		t.Errorf("%d clients were known at once, with %d calls waiting at most", most, total/2+1)
	}
	for _, w := range waiting {
		m.Cancel(w)
	}
	if len(m.clients) != 0 || len(m.crowd) != 0 || m.queued != 0 {
		t.Errorf("%d clients, %d in the heap and %d calls are left", len(m.clients), len(m.crowd), m.queued)
	}
	runtime.KeepAlive(m)
}
