package window

import (
	"time"

	"riftrelay/internal/limit"
)

// Normal calls leave no slot of a full window free, so a call of high priority
// would wait until a charge expires. Where calls of high priority have come
// recently, normal ones keep some slots free for them. That only ever makes normal
// calls wait longer, so it can't lead beyond a limit.

const (
	// keptPart is what part of a window is kept free at the most: two in a hundred.
	// A window of fewer than fifty calls keeps nothing.
	keptPart = 50

	// keptFor is for how many calls of high priority in two periods one slot is
	// kept: for those that come in a twentieth of a period. By then other slots
	// have become free.
	keptFor = 40
)

// urgent counts the calls of high priority in this period and the one before.
// Periods are a window's length each, so what is counted was made in the last one
// to two lengths.
type urgent struct {
	period      int64 // number of the present one
	now, before int
}

// turn begins the period of the moment t, in windows of length w; both are in the
// same unit.
func (u *urgent) turn(t, w int64) {
	switch p := t / w; {
	case p == u.period+1:
		u.period, u.now, u.before = p, 0, u.now
	case p > u.period:
		*u = urgent{period: p}
	}
}

// kept returns how many of n slots are kept free; none when no call of high
// priority has come recently.
func (u *urgent) kept(n int) int { return min(n/keptPart, (u.now+u.before+keptFor-1)/keptFor) }

// ends returns when the period ends. Until then no fewer slots are kept.
func (u *urgent) ends(w int64) int64 { return (u.period + 1) * w }

// keeps returns how many slots a call of the policy leaves free.
func (w *window) keeps(now limit.Instant, p Policy) int {
	if p.High || w.urgent == (urgent{}) {
		return 0
	}
	w.urgent.turn(int64(now), int64(w.quota.W))
	return w.urgent.kept(w.n())
}

// leaves returns when a call that keeps slots free may go: once there is room for
// it beside them, or without them when they may be fewer.
func (w *window) leaves(full int, kept int, lasts time.Duration) limit.Instant {
	at := w.freed(full, lasts)
	if kept > 0 {
		at = min(at, max(w.freed(full-kept, lasts), limit.Instant(w.urgent.ends(int64(w.quota.W)))))
	}
	return at
}

// tookHigh notes a call of high priority.
func (w *window) tookHigh(now limit.Instant) {
	w.urgent.turn(int64(now), int64(w.quota.W))
	w.urgent.now++
}
