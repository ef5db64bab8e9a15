package limit

import "time"

// Gate stops calls for a while after a 429, and lets one go alone where its
// answer must be seen before others may follow: for a scope whose limits are
// not known yet, and after a stop.
type Gate struct {
	until   Instant // no call before
	since   Instant // when the present stop was caused: answers to earlier calls prove nothing
	kind    Kind    // cause of the stop
	strikes int     // stops in a row without a word on how long: see backoff

	solo      bool    // calls go one by one
	soloBy    *Hold   // the one under way, if any
	soloUntil Instant // until when the others wait for it
}

// soloPatience is how long the others wait for the answer of one that went
// alone. Then the next one goes alone: nobody waits for ever.
const soloPatience = 5 * time.Second

// Next gives the earliest moment at which a call may pass.
func (g *Gate) Next(now Instant) Instant {
	at := max(now, g.until)
	if g.solo && g.soloBy != nil {
		at = max(at, g.soloUntil)
	}
	return at
}

// enter notes that the call of h passes at now, and reports whether it goes
// alone.
func (g *Gate) enter(now Instant, h *Hold) bool {
	if !g.solo {
		return false
	}
	g.soloBy, g.soloUntil = h, now.Add(soloPatience)
	return true
}

func (g *Gate) leave(h *Hold) {
	if g.soloBy == h {
		g.soloBy = nil
	}
}

// stop closes the gate until at, for a 429 that answered a call sent at
// sentAt. Stops are never summed: the latest end counts. The answers of calls
// that were under way together are one strike.
func (g *Gate) stop(now, until, sentAt Instant, kind Kind) {
	if g.strikes == 0 || sentAt >= g.since {
		g.strikes++
		g.since = now
	}
	if until > g.until {
		g.until, g.kind = until, kind
	}
	g.solo = true
}

// passed notes an answer that was no 429, to a call sent at sentAt.
func (g *Gate) passed(sentAt Instant) {
	if g.strikes > 0 && sentAt >= g.since {
		g.strikes, g.solo = 0, false
	}
}

// Cooldown gives what is left of a stop after a 429, and its cause.
func (g *Gate) Cooldown(now Instant) (time.Duration, Kind) {
	if g.kind == NotLimited || g.until <= now {
		return 0, NotLimited
	}
	return g.until.Sub(now), g.kind
}

// backoff gives the n-th wait in a row, from 1, when nothing says how long: 1,
// 2, 4 … 30 s, each up to a quarter longer by random, from 0 to 1.
func backoff(n int, random float64) time.Duration {
	const most = 30 * time.Second
	d := most
	if n < 6 {
		d = time.Second << max(0, n-1)
	}
	return min(most, d+time.Duration(random*float64(d)/4))
}
