package sched

import (
	"fmt"
	"testing"

	"riftrelay/internal/limit"
)

// Queries about hosts and methods that were never called leave nothing behind.
func TestQueriesLeaveNothing(t *testing.T) {
	m := New(Config{Keys: 2, Alias: func(_, method string) string { return method }, API: func(method string) string { return method }})
	teach(t, m, "euw1", "/x", "100:10", "20:10")
	count := func() string {
		endpoints, lanes := 0, 0
		for _, h := range m.hosts {
			endpoints += len(h.endpoints) + len(h.lines)
		}
		for _, b := range m.buckets {
			lanes += len(b.lanes) + len(b.set.buckets)
		}
		return fmt.Sprint(len(m.hosts), len(m.buckets), len(m.shared), len(m.clients), endpoints, lanes, m.NextWake())
	}
	before := count()
	for i := range 1000 {
		r := Request{Host: fmt.Sprint("h", i%3), Method: fmt.Sprint("/", i%5), Pin: i%3 - 1, High: i%2 == 0, Client: fmt.Sprint(i % 7), Deadline: limit.Never}
		if i%4 == 0 {
			r.Host = "euw1"
		}
		m.Estimate(hour, r, 1+i%20)
		m.Why(hour, r)
	}
	if after := count(); after != before {
		t.Errorf("known before: %s; after a thousand queries: %s", before, after)
	}
}
