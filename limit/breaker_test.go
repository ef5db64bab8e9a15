package limit

import (
	"testing"
	"time"
)

// R19: a key that keeps violating is blacklisted.
func TestBreaker(t *testing.T) {
	const j = 150 * time.Millisecond
	s, service := NewScope(0, nil), new(Gate)
	violate := func(now Instant) Lesson {
		h := new(Hold)
		h.Take(now, Policy{Margin: j}, service, s)
		h.Sent(now, j)
		l := Learn(now, Answer{Status: 429, Type: "method", RetryAfter: []string{"1"}, MethodLimit: "100:10,1:60", MethodCount: "1:10,2:60"}, h, service, nil, s, j)
		h.Join(now, j)
		h.Settle(now, j, 0)
		return l
	}
	n := func() int { return s.windows[0].n() }
	for i := range 3 {
		if violate(Instant(i)*second).Tripped || n() != 100 {
			t.Fatalf("violation %d trips", i+1)
		}
	}
	if !violate(3*second).Tripped || n() != 50 {
		t.Errorf("four violations in a minute: limit used to %d, want 50", n())
	}
	if one := s.windows[1].n(); one != 1 {
		t.Errorf("a limit of 1 becomes %d", one)
	}
	if s.State(3*second, j).Halved != 1 {
		t.Error("the state doesn't tell")
	}
	for i := range 30 { // four more each time
		violate(Instant(4+i) * second)
	}
	if n() != 100>>breakerMost {
		t.Errorf("limit used to %d, want an eighth", n())
	}
	// Spread out, they are tolerated; and it recovers step by step.
	now := 100 * second
	for _, want := range []int{12, 25, 50, 100, 100} {
		h := new(Hold)
		h.Take(now, Policy{Margin: j}, service, s)
		h.Sent(now, j)
		Learn(now, Answer{Status: 200, MethodLimit: "100:10"}, h, service, nil, s, j)
		h.Settle(now, j, 0)
		if n() != want {
			t.Errorf("after %v: limit used to %d, want %d", time.Duration(now), n(), want)
		}
		now = now.Add(6 * time.Minute)
	}
	for i := range 20 {
		if violate(now.Add(time.Duration(i) * 25 * time.Second)).Tripped {
			t.Error("two or three a minute trip")
		}
	}
	// Riot's own trouble is none of ours.
	for i := range 20 {
		h := new(Hold)
		h.Take(now, Policy{Margin: j}, service, s)
		if Learn(now.Add(time.Duration(i)), Answer{Status: 429, Type: "service"}, h, service, nil, s, j).Tripped {
			t.Error("a service's 429 trips")
		}
		h.Settle(now, j, 0)
	}
}
