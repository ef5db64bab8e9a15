package limit

import (
	"testing"
	"time"
)

const second = Instant(time.Second)

func newTestMargin() *Margin {
	return NewMargin(Bounds{Start: 150 * time.Millisecond, Min: 5 * time.Millisecond, Max: 2 * time.Second})
}

func TestMarginLearns(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	type step struct {
		at   time.Duration
		n    int // round trips
		trip time.Duration
		want time.Duration
	}
	for name, steps := range map[string][]step{
		"starts, shrinks after 20": {{0, 19, ms(50), ms(150)}, {time.Second, 1, ms(50), ms(5)}},
		"grows at once":            {{0, 1, ms(50), ms(150)}, {time.Second, 1, ms(450), ms(502)}},
		"never over the most":      {{0, 1, ms(50), ms(150)}, {time.Second, 1, time.Minute, 2 * time.Second}},
		"a quarter and 2 ms more":  {{0, 30, ms(100), ms(5)}, {time.Second, 1, ms(140), ms(52)}},
		"forgets after a minute": {
			{0, 30, ms(100), ms(5)}, {time.Second, 1, ms(140), ms(52)}, {29 * time.Second, 1, ms(100), ms(52)},
			{31 * time.Second, 1, ms(100), ms(52)}, {61 * time.Second, 1, ms(100), ms(5)},
		},
		"remembers the least for ten": {
			{0, 30, ms(20), ms(5)}, {time.Minute, 1, ms(400), ms(477)}, {4 * time.Minute, 1, ms(400), ms(477)},
			{6 * time.Minute, 30, ms(400), ms(477)}, {9 * time.Minute, 30, ms(400), ms(477)}, {12 * time.Minute, 30, ms(400), ms(5)},
		},
		"silence forgets": {{0, 30, ms(20), ms(5)}, {2 * time.Minute, 1, ms(20), ms(150)}, {2 * time.Minute, 19, ms(20), ms(5)}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestMargin()
			for _, s := range steps {
				for range s.n {
					m.Answered(Instant(s.at), s.trip, TCP{})
				}
				if m.J() != s.want {
					t.Errorf("after %v of %v: J %v, want %v", s.at, s.trip, m.J(), s.want)
				}
			}
		})
	}
}

func TestMarginForcedByEvidence(t *testing.T) {
	m := newTestMargin()
	for range 30 {
		m.Answered(0, 50*time.Millisecond, TCP{})
	}
	m.Exceeded(second, 50*time.Millisecond, TCP{})
	if m.J() != 50*time.Millisecond {
		t.Errorf("J %v, want the round trip", m.J())
	}
	m.Exceeded(2*second, 50*time.Millisecond, TCP{})
	if m.J() != 100*time.Millisecond {
		t.Errorf("J %v, want it doubled", m.J())
	}
	learn := func(at time.Duration) {
		for range 30 {
			m.Answered(Instant(at), 50*time.Millisecond, TCP{})
		}
	}
	learn(4 * time.Minute)
	if m.J() != 100*time.Millisecond {
		t.Errorf("J %v: falls too soon", m.J())
	}
	learn(6 * time.Minute)
	if m.J() != 50*time.Millisecond {
		t.Errorf("J %v, want half of it", m.J())
	}
	learn(time.Hour)
	if m.J() != 5*time.Millisecond {
		t.Errorf("J %v, want the least", m.J())
	}
}
