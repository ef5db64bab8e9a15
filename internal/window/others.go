package window

import (
	"math"
	"time"

	"riftrelay/internal/limit"
)

// others is what Riot's counts tell of further users of the same key: a second
// process, another program of its owner. Counts never lower anything; they
// are blind for what came since, so while others are about, calls are paced
// and leave some room.
type others struct {
	ring               // their charges, by when they were last seen: expire at + W
	seen limit.Instant // when they were last seen
	more limit.Instant // when a count last rose by more than our own calls

	// Of the latest call whose count was told, in the order of sending:
	seq   int
	count int
	at    limit.Instant // when it was sent

	// Riot's present window, where counts that fell show that its windows are
	// fixed ones: it was open by since, and is over a length later.
	since limit.Instant
	fixed bool

	calls, over float64 // their calls, and the seconds these took: both fade, their quotient is the rate
}

// about reports whether others have been seen lately.
func (o *others) about(now limit.Instant, w time.Duration) bool {
	return o.seen != 0 && now < o.until(w)
}

// until returns when others are no longer reckoned with.
func (o *others) until(w time.Duration) limit.Instant { return o.seen.Add(limit.CalmWindows * w) }

// reserve is how many calls others may have made since the last count: those
// expected, and twice the spread of such a number. It leaves at least one of the
// n calls that the window is used for.
func (o *others) reserve(now limit.Instant, n int, w time.Duration) int {
	if !o.about(now, w) || o.over == 0 {
		return 0
	}
	x := max(0, o.calls/o.over) * min(now.Sub(o.at), w).Seconds()
	return min(n-1, int(math.Ceil(x+2*math.Sqrt(x))))
}

// full reports, while others are about, whether Riot's present window is
// likely used up, by its last count and what came since, and until when; and
// whether it is over, so that the next call goes alone, for the count of the
// new one.
//
// Our own charges don't tell: those for calls in the window before run out
// while others fill this one.
func (w *window) full(now limit.Instant, underWay bool, kept time.Duration) (until limit.Instant, full bool) {
	o := &w.others
	if !o.fixed {
		return 0, false
	}
	end := o.since.Add(w.quota.W)
	if now < end {
		ours := o.count + w.sentTotal - o.seq + w.pending
		return end, ours+o.reserve(now, w.n(), w.quota.W) >= w.n()
	}
	// A call that hangs since before tells nothing of the new window, and one
	// that went for its count is waited for in reason: nobody waits forever.
	patience := end.Add(soloPatience)
	if !underWay || now >= patience {
		return 0, false
	}
	if w.pending > 0 {
		return patience, true
	}
	// The charge of such a call may expire before the patience is over.
	scout := w.sent.youngest()
	return min(patience, scout.Add(w.quota.W+kept)), scout >= end
}

// called returns when others were last seen to call. In a short window any call
// of theirs is a recent one. A long one shows them long after they have gone, so
// its count has to rise.
func (o *others) called(w time.Duration) limit.Instant {
	if w <= foreignStep {
		return o.seen
	}
	return o.more
}

// measure learns from Riot's count on a call of ours that was counted by the
// moment latest.
func (o *others) measure(c *charge, count int, latest limit.Instant, w time.Duration) {
	if c.seq <= o.seq {
		return
	}
	if o.seq > 0 && count < o.count/2 {
		o.fixed, o.since = true, latest
	}
	before := o.count
	if count < before { // of a window that has begun since
		before = 0
	}
	if count > before+c.seq-o.seq {
		o.more = latest
	}
	// What the count of a window rose by between two calls beyond our own is
	// theirs.
	if d := c.at.Sub(o.at).Seconds(); o.seq > 0 && count >= o.count && d > 0 {
		fade := 1 - d/w.Seconds()
		if fade < 0.999 { // closer to 1 they are the same, and Exp is slow
			fade = math.Exp(-d / w.Seconds())
		}
		o.calls = o.calls*fade + float64(count-o.count-(c.seq-o.seq))
		o.over = o.over*fade + d
	}
	o.seq, o.count, o.at = c.seq, count, c.at
}

// counted charges the calls of others that Riot's count shows on the answer to
// the call of h.
func (w *window) counted(now limit.Instant, count int, h *Hold, j time.Duration) {
	c := h.chargeOn(w)
	sentAt, sent := h.IsSent()
	if c == nil || !sent {
		return
	}
	if late := min(now.Sub(sentAt), j); now > sentAt.Add(late+w.quota.W) {
		return // the window that was counted in is over
	}
	w.expire(now, j)
	w.others.measure(c, count, min(now, sentAt.Add(j)), w.quota.W)
	// They may lie in the window that Riot has open now, which ends by now + W:
	// those among them that were seen before last as long as new ones.
	if n := min(count-c.known(), w.quota.N); n > 0 {
		w.others.pop(n)
		w.others.push(now, n, w.span)
		w.others.seen = now
	}
}
