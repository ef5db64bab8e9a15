package limit

import (
	"math/rand/v2"
	"testing"
	"time"
)

// linux smooths round trips as Linux does, in µs.
type linux struct{ smoothed, deviation int64 }

func (l *linux) add(trip time.Duration) {
	m := trip.Microseconds()
	if l.smoothed == 0 {
		l.smoothed, l.deviation = m<<3, m<<1
		return
	}
	m -= l.smoothed >> 3
	l.smoothed += m
	if m < 0 {
		if m = -m - l.deviation>>2; m > 0 {
			m >>= 3
		}
	} else {
		m -= l.deviation >> 2
	}
	l.deviation += m
}

func (l *linux) tcp(least time.Duration) TCP {
	return TCP{
		Smoothed: time.Duration(l.smoothed>>3) * time.Microsecond, Deviation: time.Duration(l.deviation>>2) * time.Microsecond,
		Least: least, Timeout: 200*time.Millisecond + time.Duration(l.smoothed>>3)*time.Microsecond,
	}
}

// Whatever the round trips were, the latest of them is never above what is taken
// for the most, nor any below what is taken for the least: also right after a
// jump, when what is smoothed lags behind.
func TestTCPBoundsTheLatestRoundTrip(t *testing.T) {
	const rounding = 20 * time.Microsecond // of 8 times a µs, and 4
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		var l linux
		least := time.Hour
		base := time.Duration(2+r.IntN(400)) * time.Millisecond
		for i := range 500 {
			if r.IntN(50) == 0 {
				base = time.Duration(2+r.IntN(400)) * time.Millisecond
			}
			trip := base
			if seed%3 > 0 {
				trip += time.Duration(r.Int64N(int64(base)))
			}
			if r.IntN(20) == 0 && seed%2 == 0 {
				trip += time.Second
			}
			l.add(trip)
			least = min(least, trip)
			got := l.tcp(least).trip(time.Hour, true)
			if got.most < trip-rounding || got.least > trip {
				t.Fatalf("seed %d, %d: %v is taken to lie between %v and %v", seed, i, trip, got.least, got.most)
			}
		}
	}
}

func TestTCPTakesThinkTimeOff(t *testing.T) {
	var l linux
	m := newTestMargin()
	for i := range 100 {
		l.add(20 * time.Millisecond)
		m.Answered(Instant(i)*second/10, time.Duration(500+i*25)*time.Millisecond, l.tcp(20*time.Millisecond))
	}
	if m.J() != 5*time.Millisecond {
		t.Errorf("J is %v after answers that took 0.5 to 3 s on a line of 20 ms, want 5 ms", m.J())
	}
	if back := m.Back(3 * time.Second); back != 10*time.Millisecond {
		t.Errorf("the way back is taken for %v, want 10 ms", back)
	}
	// It may come from the network as well: without a word from TCP it does.
	m.Answered(11*second, 2*time.Second, TCP{})
	if m.J() != 2*time.Second {
		t.Errorf("J is %v", m.J())
	}
}

func TestTCPNextDoorTellsNothing(t *testing.T) {
	for _, tcp := range []TCP{{}, {Least: 60 * time.Microsecond, Smoothed: 80 * time.Microsecond, Timeout: 200 * time.Millisecond}, {Least: 20 * time.Millisecond}} {
		if got := tcp.trip(time.Second, true); tcp.Tells() || got != (trip{time.Second, time.Second}) {
			t.Errorf("%+v: %v", tcp, got)
		}
	}
}

// A segment that was sent again is evidence: J grows at once, and before the
// charges of the call expire, even if its answer isn't there yet.
func TestTCPResentIsEvidence(t *testing.T) {
	var l linux
	for range 50 {
		l.add(30 * time.Millisecond)
	}
	quiet := l.tcp(30 * time.Millisecond)
	resent, stuck := quiet, quiet
	resent.Resent, stuck.Resent, stuck.Stuck = 1, 2, true
	for name, c := range map[string]struct {
		tcp     TCP
		took    time.Duration
		pending bool
		least   time.Duration // J
		most    time.Duration
	}{
		"nothing":             {quiet, 900 * time.Millisecond, true, 5 * time.Millisecond, 5 * time.Millisecond},
		"sent again, arrived": {resent, 900 * time.Millisecond, true, 230 * time.Millisecond, 300 * time.Millisecond},
		"sent again, lost":    {stuck, 900 * time.Millisecond, true, 900 * time.Millisecond, 1100 * time.Millisecond},
		"seen at the answer":  {resent, 2 * time.Second, false, 230 * time.Millisecond, 300 * time.Millisecond},
		"a quick answer":      {resent, 40 * time.Millisecond, false, 40 * time.Millisecond, 40 * time.Millisecond},
	} {
		m := newTestMargin()
		for range 30 {
			m.Answered(0, time.Second, quiet)
		}
		if c.pending {
			m.Pending(second, c.took, c.tcp)
		} else {
			m.Answered(second, c.took, c.tcp)
		}
		if j := m.J(); j < c.least || j > c.most {
			t.Errorf("%s: J is %v, want %v to %v", name, j, c.least, c.most)
		}
		for range 30 {
			m.Answered(3*60*second, time.Second, quiet)
		}
		if j := m.J(); j < min(c.least, 230*time.Millisecond) {
			t.Errorf("%s: J is %v after three minutes, want that it is held", name, j)
		}
	}
}

// Pending counts for no answer, and of a silent connection it says nothing.
func TestPendingIsNoAnswer(t *testing.T) {
	m := newTestMargin()
	tcp := TCP{Smoothed: 30 * time.Millisecond, Least: 30 * time.Millisecond, Timeout: 230 * time.Millisecond}
	for i := range 100 {
		m.Pending(Instant(i), time.Second, tcp)
		m.Pending(Instant(i), time.Minute, TCP{})
	}
	if m.J() != 150*time.Millisecond {
		t.Errorf("J is %v, want it as at first", m.J())
	}
}
