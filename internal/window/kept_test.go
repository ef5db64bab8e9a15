package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// TestKeptForHighPriority has normal calls leave a slot free after a call of high
// priority, until none has come for a while.
func TestKeptForHighPriority(t *testing.T) {
	normal := Policy{Burst: 1, Margin: 150 * time.Millisecond}
	high := Policy{Burst: 1, Margin: 150 * time.Millisecond, Unpaced: true, High: true}
	begin := limit.Instant(time.Hour) // where a period of 10 s begins
	for _, c := range []struct {
		name        string
		n, high     int           // of the limit; calls of high priority at the beginning
		used        int           // charges, of
		at          time.Duration // then
		normal, top time.Duration // when each may go
	}{
		{"nothing is kept without high priority", 100, 0, 99, 5 * time.Second, 5 * time.Second, 5 * time.Second},
		{"a slot is kept", 100, 1, 99, 5 * time.Second, 10 * time.Second, 5 * time.Second},
		{"a second one is room", 100, 1, 98, 5 * time.Second, 5 * time.Second, 5 * time.Second},
		{"two are kept for many", 100, 41, 98, 5 * time.Second, 10 * time.Second, 5 * time.Second},
		{"no more than two in a hundred", 100, 1000, 97, 5 * time.Second, 5 * time.Second, 5 * time.Second},
		{"it is kept in the next period", 100, 1, 99, 19 * time.Second, 20 * time.Second, 19 * time.Second},
		{"and in no further one", 100, 1, 99, 20 * time.Second, 20 * time.Second, 20 * time.Second},
		{"a small limit keeps nothing", 49, 40, 48, 5 * time.Second, 5 * time.Second, 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWindow(limit.Quota{N: c.n, W: 10 * time.Second})
			for range c.high {
				w.tookHigh(begin)
			}
			now := begin.Add(c.at)
			w.answered.push(now, c.used, w.span)
			if at := w.next(now, normal, false).Sub(begin); at != c.normal {
				t.Errorf("a normal call may go at %v, want %v", at, c.normal)
			}
			if at := w.next(now, high, false).Sub(begin); at != c.top {
				t.Errorf("a call of high priority may go at %v, want %v", at, c.top)
			}
		})
	}
}
