package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// ms makes an Instant or a Duration of milliseconds.
func ms[T limit.Instant | time.Duration](n float64) T { return T(n * float64(time.Millisecond)) }

const j150 = 150 * time.Millisecond

func TestPaceSchedule(t *testing.T) {
	type step struct{ grant, next float64 } // ms
	for _, c := range []struct {
		quota limit.Quota
		steps []step
	}{
		{limit.Quota{N: 500, W: 10 * time.Second}, []step{{0, 20}, {20, 40}, {40.5, 60}, {60, 80}, {200, 220}, {205, 225}}},
		{limit.Quota{N: 100, W: 120 * time.Second}, []step{{0, 1200}, {1200, 2400}, {2900, 4100}}},
		{limit.Quota{N: 100, W: 120 * time.Second}, []step{{0, 1200}, {1200, 2400}, {2500, 3600}, {3600, 4800}, {30000, 31200}}},
		{limit.Quota{N: 1000, W: time.Second}, []step{{0, 1}, {2.9, 2}, {4, 3}, {5.1, 6.1}}}, // the slack is 2 ms at least
	} {
		t.Run(c.quota.String(), func(t *testing.T) {
			var p pace
			if got := p.next(7, 0, c.quota.N, 0); got != 7 {
				t.Errorf("the first call has to wait until %v", got)
			}
			for _, s := range c.steps {
				p.grant(ms[limit.Instant](s.grant), c.quota.W, c.quota.N, j150, 0)
				if got := p.next(ms[limit.Instant](s.grant), c.quota.N, c.quota.N, 0); got != ms[limit.Instant](s.next) {
					t.Errorf("grant at %v ms: next at %v, want %v ms", s.grant, time.Duration(got), s.next)
				}
			}
		})
	}
}

func TestPaceBurstShare(t *testing.T) {
	var p pace
	p.grant(0, time.Second, 100, j150, 0)
	for _, c := range []struct {
		used  int
		burst float64
		want  float64 // ms
	}{{1, .25, 2}, {2, .25, 2}, {24, .25, 2}, {25, .25, 10}, {99, 1, 2}, {100, 1, 10}, {0, 0, 10}} {
		if got := p.next(ms[limit.Instant](2), c.used, 100, c.burst); got != ms[limit.Instant](c.want) {
			t.Errorf("%d used, b %v: next at %v, want %v ms", c.used, c.burst, time.Duration(got), c.want)
		}
	}
}

// TestEvenAfterPause: after a pause of W/2 under backlog no twentieth of W
// holds more than N/20 + 2 calls.
func TestEvenAfterPause(t *testing.T) {
	w := newWindow(limit.Quota{N: 100, W: 10 * time.Second})
	p := Policy{Margin: j150}
	var grants []limit.Instant
	for now := limit.Instant(0); now < ms[limit.Instant](40_000); now += ms[limit.Instant](1) {
		if pause := now > ms[limit.Instant](12_000) && now < ms[limit.Instant](17_000); pause || w.next(now, p, false) > now {
			continue
		}
		w.pending++
		w.pace.grant(now, w.quota.W, w.quota.N, p.Margin, 0)
		c := charge{w: w}
		c.send(now, p.Margin)
		grants = append(grants, now)
	}
	for i := 7; i < len(grants); i++ {
		if within := grants[i].Sub(grants[i-7]); within < 500*time.Millisecond {
			t.Fatalf("8 calls in %v, at %v", within, time.Duration(grants[i]))
		}
	}
	if len(grants) < 330 {
		t.Errorf("%d calls, want 330 or more", len(grants))
	}
}

// TestNthIsWhatNextWillSay lets n calls go one after the other, and compares
// with what was estimated for them before.
func TestNthIsWhatNextWillSay(t *testing.T) {
	for _, c := range []struct {
		name   string
		used   int // before, at 0
		burst  float64
		paced  bool
		calls  int
		within time.Duration
	}{
		{"fresh, spread", 0, 0, true, 90, 0},
		{"fresh, burst share", 0, .25, true, 90, 0},
		{"fresh, uneven burst share", 0, .033, true, 90, 0},
		{"fresh, burst", 0, 1, true, 100, 0},
		{"some used, burst share", 10, .25, true, 60, 0},
		{"unpaced, one lap and more", 30, 0, false, 150, 25 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Policy{Burst: c.burst, Unpaced: !c.paced, Margin: j150}
			w := newWindow(limit.Quota{N: 100, W: 10 * time.Second})
			now := limit.Instant(0)
			take := func() {
				w.pending++
				w.pace.grant(now, w.quota.W, w.quota.N, p.Margin, 0)
				ch := charge{w: w}
				ch.send(now, p.Margin)
			}
			for range c.used {
				take()
			}
			now = ms[limit.Instant](50)
			var want []limit.Instant
			for k := range c.calls {
				want = append(want, w.nth(now, now, k+1, p))
			}
			for k := range c.calls {
				now = w.next(now, p, false)
				take()
				if d := now.Sub(want[k]).Abs(); d > c.within {
					t.Fatalf("call %d goes at %v, estimated %v", k+1, time.Duration(now), time.Duration(want[k]))
				}
			}
		})
	}
}

func TestNthNeverOverflows(t *testing.T) {
	week := newWindow(limit.Quota{N: 1, W: 7 * 24 * time.Hour})
	week.pace.grant(0, week.quota.W, 1, j150, 0)
	for _, p := range []Policy{{}, {Unpaced: true}} {
		last := limit.Instant(0)
		for k := 1; k < 1<<40; k *= 4 {
			if at := week.nth(1, 1, k, p); at < last {
				t.Fatalf("call %d at %d, before an earlier one at %d", k, at, last)
			} else {
				last = at
			}
		}
	}
}
