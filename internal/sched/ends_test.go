package sched

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// TestReleasedCallMayStillArrive: a call that was sent and got no answer may
// still be on its way. While the method's limits are unknown, the next call
// waits until the first has arrived. A call that was never sent holds up nobody.
func TestReleasedCallMayStillArrive(t *testing.T) {
	for _, sent := range []bool{true, false} {
		m := known(t, Config{Keys: 1, Burst: 1}, "100:1", "100:1")
		enqueue := func(now limit.Instant, w *Waiter) *Permit {
			p, why := m.Enqueue(now, w, Request{Host: "euw1", Method: "/new", Pin: -1, Deadline: limit.Never})
			if why.Reason != None {
				t.Fatal(why)
			}
			return p
		}
		first := enqueue(hour, new(Waiter))
		if sent {
			m.Sent(hour, first)
		}
		now := hour.Add(10 * time.Millisecond)
		m.Release(now, first)
		w := new(Waiter)
		went := enqueue(now, w) != nil
		if !went {
			m.Poll(now, func(*Waiter, *Permit) { went = true })
		}
		if went == sent {
			t.Errorf("sent %v: the next call went at once: %v", sent, went)
			continue
		}
		if !sent {
			continue
		}
		if want := hour.Add(m.cfg.Margin); m.NextWake() != want {
			t.Errorf("the next call goes at %v, want the margin after the first was sent: %v", m.NextWake(), want)
		}
		m.Poll(m.NextWake(), func(*Waiter, *Permit) { went = true })
		if !went {
			t.Error("the next call doesn't go once the first has arrived")
		}
	}
}

// TestOneCallTriesAgain: when an API that refused a key is worth trying again,
// one call tries it. Until that call is answered, the others go on the other key.
func TestOneCallTriesAgain(t *testing.T) {
	m := known(t, Config{Keys: 2, Burst: 1}, "100:1", "100:1")
	enqueue := func(now limit.Instant) *Permit {
		t.Helper()
		p, why := m.Enqueue(now, new(Waiter), Request{Host: "euw1", Method: "/x", Pin: -1, Deadline: limit.Never})
		if p == nil {
			t.Fatalf("doesn't go at once: %+v", why)
		}
		return p
	}
	on := func(now limit.Instant, calls int) (n int, last *Permit) {
		t.Helper()
		for range calls {
			if p := enqueue(now); p.Key == 0 {
				n++
				last = p
			}
		}
		return n, last
	}
	answer := func(now limit.Instant, p *Permit, v Verdict, status int) {
		m.Judge(now, p, v, status)
		m.Answer(now, p, window.Answer{Status: status})
	}
	p := enqueue(hour)
	for p.Key != 0 {
		p = enqueue(hour)
	}
	answer(hour, p, Refused, 403)
	if n, _ := on(hour, 6); n > 0 {
		t.Errorf("%d of 6 calls went on the key that was refused", n)
	}
	now := hour.Add(2 * firstProbe)
	n, try := on(now, 6)
	if n != 1 {
		t.Fatalf("%d of 6 calls tried the key again, want one", n)
	}
	if n, _ = on(now.Add(time.Second), 6); n > 0 {
		t.Errorf("%d of 6 calls went on the key before the first was answered", n)
	}
	answer(now.Add(time.Second), try, Accepted, 200)
	if n, _ = on(now.Add(time.Second), 6); n != 3 {
		t.Errorf("%d of 6 calls went on the key once it was accepted, want every second", n)
	}
}
