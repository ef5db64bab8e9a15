package sched

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// TestNobodyStarves floods a host with calls of high priority. Whatever the
// mix of methods and keys: of what both want, normal gets a twentieth, and
// every lane of both gets its turn.
func TestNobodyStarves(t *testing.T) {
	for seed := range uint64(14) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 5))
			keys, methods := 1+r.IntN(2), 1+r.IntN(6)
			byApp := r.IntN(2) == 0
			answer := window.Answer{Status: 200, AppLimit: "1000:1", MethodLimit: "20:1"}
			if byApp {
				answer = window.Answer{Status: 200, AppLimit: "50:1", MethodLimit: "1000:1"}
			}
			m := New(Config{Keys: keys, Burst: float64(r.IntN(2)), Margin: 150 * time.Millisecond, QueueCapacity: 1e6, QueueTotal: 1e6})

			// As many calls wait in each lane as there are, all the time.
			type source struct {
				r      Request
				served int
			}
			var sources []*source
			for i := range methods {
				for _, high := range []bool{false, true} {
					sources = append(sources, &source{r: Request{Host: "euw1", Method: fmt.Sprint("/", i), High: high, Pin: -1, Deadline: limit.Never}})
					if r.IntN(3) == 0 {
						pinned := sources[len(sources)-1].r
						pinned.Pin = r.IntN(keys)
						sources = append(sources, &source{r: pinned})
					}
				}
			}
			now := limit.Instant(time.Hour)
			type flight struct {
				p  *Permit
				at limit.Instant
			}
			var flights []flight
			counting := false
			var ask func(*source)
			served := func(s *source, p *Permit) {
				m.Sent(now, p)
				flights = append(flights, flight{p, now.Add(20 * time.Millisecond)})
				if counting {
					s.served++
				}
			}
			ask = func(s *source) {
				for {
					p, why := m.Enqueue(now, &Waiter{Data: s}, s.r)
					if p == nil {
						if why.Reason != None {
							t.Fatalf("refused: %v", why)
						}
						return
					}
					served(s, p)
				}
			}
			for _, s := range sources {
				for range 5 {
					ask(s)
				}
			}
			end := now.Add(70 * time.Second)
			for now < end {
				counting = now > end.Add(-60*time.Second)
				var let []*source
				var permits []*Permit
				m.Poll(now, func(w *Waiter, p *Permit) { let, permits = append(let, w.Data.(*source)), append(permits, p) })
				for i, s := range let {
					served(s, permits[i])
					ask(s)
				}
				next := m.NextWake()
				if len(flights) > 0 && flights[0].at <= next {
					now = max(now, flights[0].at)
					m.Answer(now, flights[0].p, answer)
					flights = flights[1:]
					continue
				}
				now = max(now, next)
			}
			all, normal := 0, 0
			for _, s := range sources {
				all += s.served
				if !s.r.High {
					normal += s.served
				}
				if s.served == 0 {
					t.Errorf("%+v starved", s.r)
				}
			}
			share := float64(normal) / float64(all)
			t.Logf("keys %d, methods %d, contested by application %v: %d grants, normal %.3f", keys, methods, byApp, all, share)
			if share < 0.049 {
				t.Errorf("normal got %.3f of %d grants", share, all)
			}
		})
	}
}
