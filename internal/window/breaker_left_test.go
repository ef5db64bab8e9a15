package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// Others who tripped the breaker and have gone give the limits back within a
// minute: three levels here. Only answers show that they have gone, and only
// enough of them.
func TestBreakerAfterOthersHaveGone(t *testing.T) {
	const enough = 10
	for name, c := range map[string]struct {
		foreign bool
		called  func(now limit.Instant) limit.Instant // when others called last
		every   time.Duration                         // between counted answers
		want    []int                                 // levels after 29, 31, 41, 51 and 60 s
	}{
		"they have gone":      {true, func(limit.Instant) limit.Instant { return 0 }, time.Second, []int{3, 2, 1, 0, 0}},
		"they are still here": {true, func(now limit.Instant) limit.Instant { return now.Add(-20 * time.Second) }, time.Second, []int{3, 3, 3, 3, 3}},
		"few answers":         {true, func(limit.Instant) limit.Instant { return 0 }, 7 * time.Second, []int{3, 3, 3, 3, 3}},
		"our own fault":       {false, func(limit.Instant) limit.Instant { return 0 }, time.Second, []int{3, 3, 3, 3, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewScope(0, nil)
			b := &s.breaker
			b.tolerated = 0
			for range 3 {
				if !b.violated(second, 2*second, c.foreign) {
					t.Fatal("a violation is not tolerated")
				}
			}
			next := second
			for i, at := range []time.Duration{29, 31, 41, 51, 60} {
				for end := second.Add(at * time.Second); next <= end; next = next.Add(c.every) {
					if b.foreign && b.level > 0 {
						b.left(next, c.called(next), enough)
					}
				}
				if b.level != c.want[i] {
					t.Errorf("after %d s: level %d, want %d", at, b.level, c.want[i])
				}
			}
		})
	}
}
