package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// viewOf is a view of these limits, of each of which so many are used.
func viewOf(used int, quotas ...limit.Quota) limit.View {
	v := limit.View{Known: true}
	for _, q := range quotas {
		v.Windows = append(v.Windows, limit.WindowView{Quota: q, Used: used})
	}
	return v
}

// Since the store said what was used the others have gone on, as fast as may be.
func TestAloneWithAnOldView(t *testing.T) {
	second, long := limit.Quota{N: 100, W: 2 * time.Second}, limit.Quota{N: 1_200_000, W: 10 * time.Minute}
	for _, c := range []struct {
		age         time.Duration
		short, much int // caps
	}{
		{0, (90 - 30) / 3, (1_080_000 - 30) / 3},
		{500 * time.Millisecond, (90 - 30 - 25) / 3, (1_080_000 - 30 - 1000) / 3},
		{3 * time.Second, 0, (1_080_000 - 30 - 6000) / 3},
		{time.Minute, 0, (1_080_000 - 30 - 120_000) / 3},
		{time.Hour, 0, 0},
	} {
		s := NewScope(0, []limit.Quota{second, long})
		s.Lease(true, 0)
		s.Adopt(ms[limit.Instant](1000), viewOf(30, second, long))
		now := ms[limit.Instant](1000).Add(c.age)
		s.GoAlone(now, 3, j150)
		short, _ := s.windows[0].capOf(now)
		much, _ := s.windows[1].capOf(now)
		if short != c.short || much != c.much {
			t.Errorf("with a view %v old: %d and %d, want %d and %d", c.age, short, much, c.short, c.much)
		}
	}
}

// A store that comes and goes without a word of its own doesn't begin the wait
// for others' calls anew each time.
func TestAloneAgainAndAgain(t *testing.T) {
	q := limit.Quota{N: 100, W: 2 * time.Second}
	s := NewScope(0, []limit.Quota{q})
	s.Lease(true, 0)
	now := ms[limit.Instant](1000)
	s.Adopt(now, viewOf(100, q))
	for range 10 {
		s.GoAlone(now, 3, j150)
		now = now.Add(time.Second)
		s.Rejoin(now.Add(time.Second))
		now = now.Add(500 * time.Millisecond)
	}
	if n, on := s.windows[0].capOf(now); n != 30 || !on {
		t.Errorf("%d calls, want the share of 30", n)
	}
	s.Adopt(now, viewOf(100, q)) // a word
	s.GoAlone(now, 3, j150)
	if n, _ := s.windows[0].capOf(now); n != 0 {
		t.Errorf("%d calls, want none: all are used", n)
	}
}
