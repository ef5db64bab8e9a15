package sched

import (
	"fmt"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// What the machine alone costs:
//
//	go test -run - -bench . -benchmem ./internal/sched

var plain = window.Answer{Status: 200, AppLimit: "1000000:10", MethodLimit: "1000000:10"}

// BenchmarkStraight admits, writes and answers a call with nobody in its way,
// while more and more is known and waits elsewhere.
func BenchmarkStraight(b *testing.B) {
	for _, c := range []struct{ buckets, keys, waiters int }{
		{10, 1, 0}, {1_000, 1, 0}, {50_000, 1, 0}, {10, 100, 0}, {1_000, 100, 0}, {10, 1, 100_000}, {10, 100, 100_000},
	} {
		b.Run(fmt.Sprintf("buckets=%d/keys=%d/waiters=%d", c.buckets, c.keys, c.waiters), func(b *testing.B) {
			m := known(b, Config{Keys: c.keys, Burst: 1}, plain.AppLimit, plain.MethodLimit)
			for i := len(m.buckets); i < c.buckets; i++ {
				p, _ := m.Enqueue(0, new(Waiter), Request{Host: fmt.Sprint("h", i%1000), Method: fmt.Sprint("/", i), Pin: -1, High: true})
				if p != nil {
					m.Answer(0, p, plain)
				}
			}
			park(b, m, c.waiters)
			now := hour
			r := Request{Host: "euw1", Method: "/x", Pin: -1, Deadline: hour + hour}
			w := new(Waiter)
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(20 * time.Microsecond)
				p, why := m.Enqueue(now, w, r)
				if p == nil {
					b.Fatalf("%+v", why)
				}
				m.Sent(now, p)
				m.Answer(now, p, window.Answer{Status: 200})
				m.Poll(now, nobody)
			}
		})
	}
}

func nobody(*Waiter, *Permit) { panic("BUG: nobody can go") }

// park has n calls wait for a method of the same host that has no room for
// hours.
func park(b *testing.B, m *Machine, n int) {
	if n == 0 {
		return
	}
	const at = hour - 1
	teach(b, m, "euw1", "/parked", "", "1:7200")
	r := Request{Host: "euw1", Method: "/parked", Pin: 0, Deadline: limit.Never}
	for range n {
		if _, why := m.Enqueue(at, new(Waiter), r); why.Reason != None {
			b.Fatalf("%+v", why)
		}
		m.Poll(at, nobody)
	}
	if m.queued != n {
		b.Fatalf("%d wait, want %d", m.queued, n)
	}
}

// BenchmarkContended lets calls go from so many lanes, each of a method of its
// own, that share an application's limit which is full: one leaves, one comes.
func BenchmarkContended(b *testing.B) {
	for _, c := range []struct{ lanes, keys int }{{1, 1}, {60, 1}, {60, 4}, {60, 100}} {
		b.Run(fmt.Sprintf("lanes=%d/keys=%d", c.lanes, c.keys), func(b *testing.B) {
			m := known(b, Config{Keys: c.keys, Burst: 1}, "100:1", "1000:1")
			now := hour
			var flights []*Permit
			var free []*Waiter
			let := func(w *Waiter, p *Permit) {
				flights = append(flights, p)
				free = append(free, w)
			}
			requests := make([]Request, c.lanes)
			for i := range requests {
				requests[i] = Request{Host: "euw1", Method: fmt.Sprint("/l", i), Pin: -1, Deadline: hour * 1000}
				teach(b, m, "euw1", requests[i].Method, "", "1000:1")
			}
			enqueue := func(r Request, w *Waiter) {
				if p, why := m.Enqueue(now, w, r); p != nil {
					let(w, p)
				} else if why.Reason != None {
					b.Fatalf("%+v", why)
				}
			}
			for i := range c.lanes*3 + 100*c.keys {
				enqueue(requests[i%c.lanes], new(Waiter))
			}
			done, i := 0, 0
			var last []*Waiter
			b.ReportAllocs()
			for b.Loop() {
				for done == 0 {
					m.Poll(now, let)
					for _, p := range flights {
						m.Sent(now, p)
						m.Answer(now, p, window.Answer{Status: 200})
						done++
					}
					flights = flights[:0]
					free, last = last[:0], free
					for _, w := range last {
						enqueue(requests[i%c.lanes], w)
						i++
					}
					if done == 0 {
						now = max(now, m.NextWake())
					}
				}
				done--
			}
		})
	}
}

// BenchmarkQueue has a call come to a long queue, with a deadline, and leave.
func BenchmarkQueue(b *testing.B) {
	for _, keys := range []int{1, 4, 100} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			m := known(b, Config{Keys: keys}, "500:10,30000:600", "1000:10")
			now := hour
			w := new(Waiter)
			r := Request{Host: "euw1", Method: "/x", Pin: -1, Deadline: hour * 2}
			for range 300 * keys { // spread over the window
				now = now.Add(30 * time.Millisecond / time.Duration(keys))
				if p, _ := m.Enqueue(now, new(Waiter), r); p != nil {
					m.Sent(now, p)
				}
				m.Poll(now, func(_ *Waiter, p *Permit) { m.Sent(now, p) })
			}
			for range 1000 {
				m.Enqueue(now, new(Waiter), r)
			}
			m.Poll(now, func(*Waiter, *Permit) {})
			b.ReportAllocs()
			for b.Loop() {
				if p, why := m.Enqueue(now, w, r); p != nil || why.Reason != None {
					b.Fatalf("%v %+v", p, why)
				}
				m.Cancel(w)
			}
		})
	}
}

// BenchmarkBudget has calls of a budget come and go beside those without.
func BenchmarkBudget(b *testing.B) {
	for name, r := range map[string]Request{"none": {}, "budget": {Budget: 2}} {
		b.Run(name, func(b *testing.B) {
			m := known(b, Config{Keys: 1, Burst: 1, Shares: func(_, _ string) []window.Share { return []window.Share{{Of: 0.3}, {Of: 0.5}} }}, "100000:1", "100000:1")
			r.Host, r.Method, r.Pin, r.Deadline = "euw1", "/x", -1, limit.Never
			now, w := hour, new(Waiter)
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Millisecond)
				p, why := m.Enqueue(now, w, r)
				if p == nil {
					b.Fatalf("%+v", why)
				}
				m.Sent(now, p)
				m.Answer(now, p, window.Answer{Status: 200})
			}
		})
	}
}
