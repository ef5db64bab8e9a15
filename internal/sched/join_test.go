package sched

import (
	"testing"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// TestCallsUnderWayJoinANewWindow has calls of two methods under way when an
// answer shows a new window of the application: all of them count in it, and no
// more calls go than it has room for.
func TestCallsUnderWayJoinANewWindow(t *testing.T) {
	m := known(t, Config{Keys: 1, Burst: 1}, "100:1", "100:1")
	enqueue := func(method string) *Permit {
		p, _ := m.Enqueue(hour, new(Waiter), Request{Host: "euw1", Method: method, Pin: -1, High: true, Deadline: limit.Never})
		return p
	}
	under := []*Permit{enqueue("/x"), enqueue("/y"), enqueue("/y"), enqueue("/x")}
	for _, p := range under {
		m.Sent(hour, p)
	}
	m.Answer(hour+1, under[0], window.Answer{Status: 200, AppLimit: "100:1,6:100", AppCount: "1:1,1:100"})
	for i, want := range []bool{true, true, false} {
		if p := enqueue("/y"); (p != nil) != want {
			t.Errorf("call %d after the answer: goes %v, want %v: four of six were under way", i+1, p != nil, want)
		}
	}
}
