package memstore

import (
	"math"

	"riftrelay/internal/limit"
)

// storeForeign is what Riot's counts tell a store of others on the same key: see
// others.go, whose rules these are. Counts never lower anything. They are blind for
// what came since, so while others are about, calls are paced and leave some room.
type storeForeign struct {
	seen millis // when others were last seen; 0 if never

	// Of the latest call whose count was told, in the order of granting:
	place   int    // how many permits had been granted by then
	last    int    // Riot's count
	counted millis // when it was sent

	// since is not 0 where counts that fell show that Riot's windows are fixed ones:
	// the present one was open by then, and is over a length later.
	since millis

	// Thousandths of their calls, and the ms these took. Both fade; their quotient is
	// the rate. They are whole numbers.
	calls, over float64
	start       millis // of the permit that starts last
}

// calm says that others have been seen lately: a burst would be blind for what
// they do meanwhile.
func (w *storeWindow) calm(now millis) bool { return w.seen > 0 && now-w.seen < limit.CalmWindows*w.w }

// awaited reports whether a count is to come: of a permit that was granted after
// the one whose count came last. A permit whose count never comes is not waited
// for long.
func (w *storeWindow) awaited(now millis) bool {
	return w.granted > w.place && now < w.start+storeSoloPatience
}

// reserve is how many calls others may have made since the last count: those
// expected, and twice the spread of such a number.
func (w *storeWindow) reserve(now millis, level int) int {
	if w.over == 0 {
		return 0
	}
	x := max(0, w.calls/w.over) / 1000 * float64(min(now-w.counted, w.w))
	return min(w.limit(level)-1, int(math.Ceil(x+2*math.Sqrt(x))))
}

// prepare works out what the window has room for at now: left own charges in all,
// and spared by charges alone. Where left is less it stays so until held at the
// longest.
func (w *storeWindow) prepare(now millis, level int, share float64) {
	w.spared, w.burst, w.held = w.limit(level)-w.others.n, int(math.Ceil(share*float64(w.limit(level)))), 0
	w.left = w.spared
	w.keep(now, level, 0)
	if !w.calm(now) {
		return
	}
	reserve := w.reserve(now, level)
	w.keep(now, level, reserve)
	w.burst = 0
	if w.awaited(now) { // a reserve that grows while nothing goes would hold for good
		w.spared -= reserve
		w.left = w.spared
	}
	if w.since == 0 {
		return
	}
	// Our own charges don't tell what Riot's present window holds: those for calls
	// in the one before run out while others fill this one.
	room, end := 0, w.since+w.w
	switch {
	case now < end:
		room, w.held = w.limit(level)-w.last-max(0, w.granted-w.place)-reserve, end
	case w.scouted(now): // for the count of the new window
		w.held = w.start + storeSoloPatience
	default:
		room, w.held = 1, now+storeSoloPatience
	}
	w.left = min(w.left, w.own.n+room)
}

// scouted reports whether a call has gone alone for the count of a new window.
func (w *storeWindow) scouted(now millis) bool {
	return w.calm(now) && w.since > 0 && w.start >= w.since+w.w && w.awaited(now)
}

// count takes over Riot's count on a call that was sent then and counted by the
// moment latest. It reports whether it is the first of a new window.
func (w *storeWindow) count(now, sent, latest millis, count int, b limit.Basis) (fresh bool) {
	// Permits granted after this call's may have overtaken it. So they prove nobody
	// else. Where others are about, few did, and the rest must not hide them.
	n := count - b.Base - w.granted
	if n > 0 {
		w.seen = now
	}
	if w.calm(now) {
		n = count - b.Used
	}
	if n = min(n, w.n); n > 0 {
		w.others.pop(n)
		w.others.add(w.slot(now+w.w), n)
	}
	place := b.Used - b.Base
	if place <= w.place {
		return false
	}
	if w.place > 0 && count < w.last/2 || w.since > 0 && sent >= w.since+w.w {
		w.since, fresh = latest, true
	}
	// What the count of a window rose by between two calls beyond our own is
	// theirs.
	if d := sent - w.counted; w.place > 0 && count >= w.last && d > 0 {
		fade := max(0, 1-float64(d)/float64(w.w))
		w.calls = math.Floor(w.calls*fade) + float64(1000*(count-w.last-(place-w.place)))
		w.over = math.Floor(w.over*fade) + float64(d)
	}
	w.place, w.last, w.counted = place, count, sent
	return fresh && w.calm(now)
}
