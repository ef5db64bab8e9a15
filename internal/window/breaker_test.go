package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// R19: a key that keeps violating is blacklisted.
func TestBreaker(t *testing.T) {
	const j = 150 * time.Millisecond
	s, service := NewScope(0, nil), new(Gate)
	violate := func(now limit.Instant) Lesson {
		h := new(Hold)
		h.Take(now, Policy{Margin: j}, service, s)
		h.Sent(now, j)
		l := Learn(now, Answer{Status: 429, Type: "method", RetryAfter: []string{"1"}, MethodLimit: "100:10,1:60", MethodCount: "1:10,2:60"}, h, service, nil, s, j)
		h.Join(now, j)
		h.Settle(now, j)
		return l
	}
	n := func() int { return s.windows[0].n() }
	for i := range 3 {
		if violate(limit.Instant(i)*second).Tripped || n() != 100 {
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
		violate(limit.Instant(4+i) * second)
	}
	if n() != 100>>limit.MaxHalvings {
		t.Errorf("limit used to %d, want an eighth", n())
	}
	// Spread out, they are tolerated; and it recovers step by step.
	now := 100 * second
	for _, want := range []int{12, 25, 50, 100, 100} {
		h := new(Hold)
		h.Take(now, Policy{Margin: j}, service, s)
		h.Sent(now, j)
		Learn(now, Answer{Status: 200, MethodLimit: "100:10"}, h, service, nil, s, j)
		h.Settle(now, j)
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
		h.Settle(now, j)
	}
}

// A breaker outlives the process, and time in which nothing ran eases it as any
// other does.
func TestBreakerIsSaved(t *testing.T) {
	const j = 150 * time.Millisecond
	s, service := NewScope(0, nil), new(Gate)
	s.Tolerate(1)
	violate := func(s *Scope, now limit.Instant) bool {
		h := new(Hold)
		h.Take(now, Policy{Margin: j}, service, s)
		h.Sent(now, j)
		l := Learn(now, Answer{Status: 429, Type: "method", RetryAfter: []string{"1"}, MethodLimit: "100:10", MethodCount: "1:10"}, h, service, nil, s, j)
		h.Join(now, j)
		h.Settle(now, j)
		return l.Tripped
	}
	for i := range 5 { // the second and the fourth trip, the fifth is the next one's first
		violate(s, limit.Instant(2*i)*second)
	}
	v := s.Save(10*second, j)
	if !v.Valid() || v.Halved != 2 || v.Calm != 2*time.Second || len(v.Violations) != 1 || v.Violations[0] != 2*time.Second {
		t.Fatalf("saved %+v", v)
	}
	const now = 1000 * second
	for _, c := range []struct {
		elapsed time.Duration
		halved  int
		trips   bool // one more violation within the minute
	}{
		{0, 2, true},
		{57 * time.Second, 2, true},
		{time.Minute, 2, false},
		{5*time.Minute - 3*time.Second, 2, false},
		{5*time.Minute - 2*time.Second, 1, false},
		{time.Hour, 0, false},
		{-time.Hour, 2, true}, // a clock that was set back
	} {
		r := Restore(now, v, c.elapsed, now, nil)
		r.Tolerate(1)
		if got := r.State(now, j).Halved; got != c.halved {
			t.Errorf("after %v halved %d times, want %d", c.elapsed, got, c.halved)
		}
		if n := r.windows[0].n(); n != 100>>c.halved {
			t.Errorf("after %v the limit is used to %d", c.elapsed, n)
		}
		if got := violate(r, now); got != c.trips {
			t.Errorf("after %v one more trips: %v, want %v", c.elapsed, got, c.trips)
		}
	}
	// Of a scope whose limits aren't known, too: then those assumed are halved.
	v.Windows = nil
	if r := Restore(now, v, 0, now, []limit.Quota{{N: 20, W: time.Second}}); v.Empty() || r.windows[0].n() != 5 {
		t.Errorf("assumed limit used to %d, want 5", r.windows[0].n())
	}
	// What has eased in life is not saved as it was.
	if v := s.Save(second*60*20, j); v.Halved != 0 || len(v.Violations) != 0 {
		t.Errorf("saved after 20 minutes: %+v", v)
	}
}

// It eases by time alone, so that nobody is told of a breaker in a scope that
// has long been calm; and the scope isn't forgotten before.
func TestBreakerEasesWithoutAnswers(t *testing.T) {
	s := NewScope(0, []limit.Quota{{N: 100, W: time.Second}})
	s.breaker.level, s.breaker.since = 3, second
	s.halve()
	for after, want := range map[time.Duration]int{0: 3, 5 * time.Minute: 2, 10 * time.Minute: 1, 15 * time.Minute: 0} {
		now := second.Add(after)
		if st := s.State(now, 0); st.Halved != want || s.Idle(now, 0) != (want == 0) {
			t.Errorf("after %v halved %d, idle %v; want %d", after, st.Halved, s.Idle(now, 0), want)
		}
	}
	h := new(Hold)
	h.Take(second.Add(time.Hour), Policy{}, nil, s)
	if n := s.windows[0].n(); n != 100 {
		t.Errorf("a call an hour later finds a limit of %d", n)
	}
}
