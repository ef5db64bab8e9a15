package admit

import (
	"testing"
	"time"

	"riftrelay/limit"
)

// A call that waits for its method's charge to expire goes when it does by the
// margin that holds by then, not by the greater one when it began to wait: also
// when it was the answers to other methods of the host that made it shrink.
func TestSmallerMarginFreesOtherMethods(t *testing.T) {
	m := New(Config{
		Keys: 1, Burst: 1, Margin: 150 * time.Millisecond, MinMargin: 5 * time.Millisecond, MaxMargin: 2 * time.Second,
		Assumed: []limit.Quota{{N: 1000, W: time.Second}}, QueueCapacity: 10, QueueTotal: 10,
	})
	now := limit.Instant(time.Minute)
	enqueue := func(method string, w *Waiter) *Permit {
		p, why := m.Enqueue(now, w, Request{Host: "euw1", Method: method, Pin: -1, Deadline: limit.Never})
		if why.Reason != None {
			t.Fatalf("%s is refused: %+v", method, why)
		}
		return p
	}
	ask := func(n int, method, limits string) {
		permits := make([]*Permit, n)
		for i := range permits {
			permits[i] = enqueue(method, new(Waiter))
			m.Sent(now, permits[i])
			m.Poll(now, nil)
		}
		now = now.Add(50 * time.Millisecond)
		for _, p := range permits {
			m.Answer(now, p, limit.Answer{Status: 200, AppLimit: "1000:1", MethodLimit: limits})
		}
	}
	ask(1, "/x", "1:1")
	ask(1, "/y", "1000:1")
	now = now.Add(time.Minute)
	sent := now
	m.Sent(sent, enqueue("/x", new(Waiter)))
	if enqueue("/x", new(Waiter)) != nil {
		t.Fatal("two calls to a method of one")
	}
	m.Poll(now, nil)
	if at := m.NextWake(); at != sent.Add(1150*time.Millisecond) {
		t.Fatalf("can go %v after the one before, want 1 s and the margin of 150 ms", at.Sub(sent))
	}
	ask(20, "/y", "1000:1")
	if j := m.hosts["euw1"].margin.J(); j != 5*time.Millisecond {
		t.Fatalf("J is %v after 20 equal round trips, want the least", j)
	}
	m.Poll(now, func(*Waiter, *Permit) { t.Error("let go too early") })
	if at, want := m.NextWake(), sent.Add(1005*time.Millisecond); at > want {
		t.Errorf("can go %v after the one before, want 1 s and the margin of 5 ms", at.Sub(sent))
	}
	checkMachine(t, m, now)
}
