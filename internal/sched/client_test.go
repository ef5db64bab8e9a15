package sched

import (
	"fmt"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// TestFloodHoldsUpNobody has one client with thousands of calls waiting and a
// polite one with a call each 2 s: the polite one waits for its own share and one
// slot at most, and is never refused.
func TestFloodHoldsUpNobody(t *testing.T) {
	for _, n := range []int{2000, 2200} {
		for _, polite := range []Request{{Method: "/x"}, {Method: "/x", High: true}, {Method: "/y"}} {
			t.Run(fmt.Sprintf("%d/%s/high=%v", n, polite.Method, polite.High), func(t *testing.T) {
				m := known(t, Config{Keys: 1, QueueCapacity: 2048, QueueTotal: 100_000}, "500:10", "500:10")
				now := hour
				flood := Request{Host: "euw1", Method: "/x", Pin: -1, Client: "flood", Deadline: limit.Never}
				answer := func(p *Permit) {
					m.Sent(now, p)
					m.Answer(now, p, window.Answer{Status: 200})
				}
				ask := func(r Request) (refused bool) {
					p, why := m.Enqueue(now, &Waiter{Data: r.Client}, r)
					if p != nil {
						answer(p)
					}
					return why.Reason != None
				}
				for range n {
					ask(flood)
				}
				polite.Host, polite.Pin, polite.Client, polite.Deadline = "euw1", -1, "polite", limit.Never
				var asked limit.Instant
				var most time.Duration
				calls := 0
				for next := now.Add(15 * time.Second); now < hour.Add(95*time.Second); now = max(now+1, min(next, m.NextWake())) {
					if now >= next {
						next, asked = now.Add(2013*time.Millisecond), now // at all phases of the schedule
						if ask(polite) {
							t.Fatal("the polite client is refused")
						}
					}
					var let []*Permit
					again := 0
					m.Poll(now, func(w *Waiter, p *Permit) {
						let = append(let, p)
						if w.Data == "polite" {
							calls++
							most = max(most, now.Sub(asked))
						} else {
							again++
						}
					})
					for _, p := range let {
						answer(p)
					}
					for range again {
						ask(flood)
					}
				}
				t.Logf("%d calls waited, %v at most", calls, most)
				if most > 60*time.Millisecond { // a share of 25 calls a second, and a slot
					t.Errorf("a call waited %v", most)
				}
			})
		}
	}
}

// TestRefusedComeBackOneByOne has calls refused for a full queue: none of them is
// told the time of another.
func TestRefusedComeBackOneByOne(t *testing.T) {
	m := known(t, Config{Keys: 1, QueueCapacity: 3, QueueTotal: 100}, "4:2", "1000:1")
	last := limit.Instant(0)
	for i := range 16 {
		_, why := m.Enqueue(hour, new(Waiter), Request{Host: "euw1", Method: "/x", Pin: -1, Deadline: limit.Never})
		if why.Reason == None {
			continue
		}
		if why.Start < last.Add(150*time.Millisecond) {
			t.Errorf("call %d comes back %v, the one before it %v", i, why.Start.Sub(hour), last.Sub(hour))
		}
		last = why.Start
	}
}
