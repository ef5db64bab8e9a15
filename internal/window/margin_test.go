package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

const second = limit.Instant(time.Second)

func newTestMargin() *Margin {
	return NewMargin(Bounds{Start: 150 * time.Millisecond, Min: 150 * time.Millisecond, Max: 2 * time.Second})
}

// TestMargin feeds round trips, ten in a second: the first of each step, then the
// second, and so on in turn.
func TestMargin(t *testing.T) {
	type step struct {
		n     int
		trips []int // ms
		want  int   // ms
	}
	for name, steps := range map[string][]step{
		"never below the least":              {{300, []int{1}, 150}, {300, []int{50, 149}, 150}},
		"all of them within twice the least": {{1, []int{50}, 150}, {300, []int{60, 160, 260}, 260}, {1, []int{301}, 150}},
		"a quick answer among slow ones":     {{300, []int{400, 400, 400, 60}, 150}},
		"a way longer than the least":        {{100, []int{400}, 150}, {1, []int{400}, 400}, {300, []int{400, 500, 450}, 400}},
		"at most the most":                   {{101, []int{3000}, 2000}},
		"falls with the first quick answer":  {{300, []int{400}, 400}, {1, []int{20}, 150}},
		"forgets quick answers in 20 s":      {{300, []int{20}, 150}, {99, []int{400}, 150}, {101, []int{400}, 400}},
		"slow answers are no slow way":       {{900, []int{520, 3000, 900, 2500, 1500}, 150}},
		"a hung call is no thinking":         {{300, []int{400}, 400}, {20, []int{400, 400, 400, 60_000}, 400}},
	} {
		t.Run(name, func(t *testing.T) {
			m, now := newTestMargin(), limit.Instant(0)
			for _, s := range steps {
				for i := range s.n {
					m.Answered(now, time.Duration(s.trips[i%len(s.trips)])*time.Millisecond)
					now = now.Add(100 * time.Millisecond)
				}
				if want := time.Duration(s.want) * time.Millisecond; m.J() != want {
					t.Errorf("after %d of %v ms: J %v, want %v", s.n, s.trips, m.J(), want)
				}
			}
		})
	}
}

// TestMarginAfterABatch: the answers to calls that leave together come in the
// order of their round trips. The last of them are no slow way.
func TestMarginAfterABatch(t *testing.T) {
	m := newTestMargin()
	for batch := range 5 {
		for i := range 500 {
			trip := 520*time.Millisecond + time.Duration(i)*5*time.Millisecond
			m.Answered(limit.Instant(time.Duration(batch)*10*time.Second).Add(trip), trip)
			if m.J() != 150*time.Millisecond {
				t.Fatalf("J %v after answer %d of batch %d", m.J(), i, batch)
			}
		}
	}
}

// TestMarginGrowsAfterEvidence: a 429 of our own making doubles J, and others
// that come of the same do not.
func TestMarginGrowsAfterEvidence(t *testing.T) {
	const ms = time.Millisecond
	m := newTestMargin()
	for _, s := range []struct {
		at   limit.Instant
		own  bool // a 429 of our own making, or else an answer
		want time.Duration
	}{
		{second, false, 150 * ms}, {2 * second, true, 300 * ms}, {2*second + 10, true, 300 * ms}, {3 * second, true, 600 * ms}, {240 * second, false, 600 * ms},
		{303 * second, false, 300 * ms}, {603 * second, false, 150 * ms}, {3600 * second, false, 150 * ms},
		{3601 * second, true, 300 * ms}, {3602 * second, true, 600 * ms}, {3603 * second, true, 1200 * ms}, {3604 * second, true, 2 * time.Second},
	} {
		if s.own {
			m.Exceeded(s.at, 50*ms)
		} else {
			m.Answered(s.at, 50*ms)
		}
		if m.J() != s.want {
			t.Errorf("at %v: J %v, want %v", time.Duration(s.at), m.J(), s.want)
		}
	}
}
