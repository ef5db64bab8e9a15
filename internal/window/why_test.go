package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

func TestWhy(t *testing.T) {
	const j = 150 * time.Millisecond
	for _, c := range []struct {
		name  string
		p     Policy
		setUp func(s *Scope, service *Gate)
		at    limit.Instant
		want  Hindrance
	}{
		{"nothing", Policy{Burst: 1, Margin: j}, func(*Scope, *Gate) {}, second, Free},
		{"full", Policy{Burst: 1, Margin: j}, func(s *Scope, g *Gate) { call(s, g, j, 9) }, second, Full},
		{"paced", Policy{Margin: j}, func(s *Scope, g *Gate) { call(s, g, j, 1) }, second, Paced},
		{"high isn't paced", Policy{Unpaced: true, Margin: j}, func(s *Scope, g *Gate) { call(s, g, j, 1) }, second, Free},
		{"stopped", Policy{Burst: 1, Margin: j}, func(s *Scope, g *Gate) {
			h := new(Hold)
			h.Take(second, Policy{}, g, s)
			h.Sent(second, j)
			Learn(second, Answer{Status: 429, Type: "method", RetryAfter: []string{"30"}}, h, g, nil, s, j)
			h.Settle(second, j)
		}, second, Stopped},
		{"solo", Policy{Burst: 1, Margin: j}, func(s *Scope, g *Gate) {
			s.solo = true
			new(Hold).Take(second, Policy{}, g, s)
		}, second, Solo},
		{"reserved", Policy{Burst: 1, Margin: j}, func(s *Scope, g *Gate) {
			w := s.windows[0]
			w.others.seen, w.others.calls, w.others.over = second, 40, 10
			s.inFlight++
			w.sent.push(second, 3, w.span)
		}, 3 * second, Reserved},
	} {
		s, service, h := NewScope(0, nil), new(Gate), new(Hold)
		h.Take(0, c.p, service, s)
		h.Sent(0, j)
		Learn(0, Answer{Status: 200, MethodLimit: "10:10,100:600", MethodCount: "1:10,1:600"}, h, service, nil, s, j)
		h.Join(0, j)
		h.Settle(0, j)
		c.setUp(s, service)
		y := s.Why(c.at, c.p)
		if y.Hindrance != c.want {
			t.Errorf("%s: hindrance %d, want %d: %+v", c.name, y.Hindrance, c.want, y)
		}
		if next := s.Next(c.at, c.p); y.Until != next {
			t.Errorf("%s: until %d, Next says %d", c.name, y.Until, next)
		}
	}
}

// call makes n calls of the scope at one second.
func call(s *Scope, service *Gate, j time.Duration, n int) {
	for range n {
		h := new(Hold)
		h.Take(second, Policy{Burst: 1, Margin: j}, service, s)
		h.Sent(second, j)
		h.Settle(second, j)
	}
}
