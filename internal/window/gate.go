package window

import (
	"time"

	"riftrelay/internal/limit"
)

// Gate stops calls for a while after a 429, and lets one go alone where its
// answer must be seen before others may follow: for a scope whose limits are
// not known yet, and after a stop.
type Gate struct {
	until   limit.Instant // no call before
	since   limit.Instant // when the last strike came: answers to calls sent earlier prove nothing
	kind    limit.Kind    // cause of the stop
	strikes int           // 429s in a row, those of calls under way together counted once: see backoff

	solo      bool          // calls go one by one
	soloBy    *Hold         // the one under way, if any
	soloUntil limit.Instant // until when the others wait for it
}

// soloPatience is how long the others wait for the answer of one that went
// alone. Then the next one goes alone: nobody waits forever.
const soloPatience = 5 * time.Second

// Next returns the earliest moment at which a call may pass.
func (g *Gate) Next(now limit.Instant) limit.Instant {
	at := max(now, g.until)
	if g.solo && g.soloBy != nil {
		at = max(at, g.soloUntil)
	}
	return at
}

// enter notes that the call of h passes at now, and reports whether it goes
// alone.
func (g *Gate) enter(now limit.Instant, h *Hold) bool {
	if !g.solo {
		return false
	}
	g.soloBy, g.soloUntil = h, now.Add(soloPatience)
	return true
}

// leave notes that the call of h is over. A call whose turn another has taken
// over, because it took too long, ends nothing.
func (g *Gate) leave(h *Hold) {
	if g.soloBy == h {
		g.soloBy = nil
	}
}

// strike notes a 429 that came now to a call sent at sentAt and returns how many
// there have been in a row. The answers of calls that were under way together
// are one strike.
func (g *Gate) strike(now, sentAt limit.Instant) int {
	if g.strikes == 0 || sentAt >= g.since {
		g.strikes++
		g.since = now
	}
	return g.strikes
}

// stop closes the gate until the given moment; after it, one call goes alone.
// Stops are never summed: the latest end counts. It reports whether this is it.
func (g *Gate) stop(until limit.Instant, kind limit.Kind) (longer bool) {
	if longer = until > g.until; longer {
		g.until, g.kind = until, kind
	}
	g.solo = true
	return longer
}

// Opens returns the end of the stop in force; now when there is none.
func (g *Gate) Opens(now limit.Instant) limit.Instant { return max(now, g.until) }

// stoppedSince reports whether a call that passed at t would not have, had it
// come now: there was a 429 since, and no success that ends its stop.
func (g *Gate) stoppedSince(t, now limit.Instant) bool {
	return g.until > now || g.strikes > 0 && g.since >= t
}

// passed notes the success of a call sent at sentAt. Only one that was sent
// after the last strike proves that calls pass again.
func (g *Gate) passed(sentAt limit.Instant) {
	if g.strikes > 0 && sentAt >= g.since {
		g.strikes, g.solo = 0, false
	}
}

// Cooldown returns what is left of a stop after a 429, and its cause.
func (g *Gate) Cooldown(now limit.Instant) (time.Duration, limit.Kind) {
	if g.kind == limit.NotLimited || g.until <= now {
		return 0, limit.NotLimited
	}
	return g.until.Sub(now), g.kind
}

// backoff returns the n-th wait in a row, from 1, when nothing says how long: 1,
// 2, 4 … 30 s, each up to a quarter longer by random, from 0 to 1.
func backoff(n int, random float64) time.Duration {
	const most = 30 * time.Second
	d := most
	if n < 6 {
		d = time.Second << max(0, n-1)
	}
	return min(most, d+time.Duration(random*float64(d)/4))
}
