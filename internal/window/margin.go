package window

import (
	"time"

	"riftrelay/internal/limit"
)

// Bounds are the ends between which a Margin moves, and where it starts.
type Bounds struct {
	Start, Min, Max time.Duration
}

// Margin is J: the most that a call is allowed to take on its way to Riot. It
// matters for slow answers only, since Riot counts a call before it answers.
//
// J is never below Bounds.Min. What the way takes can't be seen, but it is less
// than the whole round trip. So J is larger in two cases. Where all recent round
// trips took less than twice Min, J is the longest of them. Where even the
// quickest took longer than Min, J is that one, unless round trips vary much more
// than a network does: then Riot is slow, and not the way to it. In both cases
// nearly all calls count as arrived only when their answers come.
//
// A 429 of our own making shows that J was too small. J doubles then, and falls
// back slowly.
type Margin struct {
	bounds Bounds
	j      time.Duration
	before trips // the round trips before those of recent; none until there are enough
	recent trips
	forced time.Duration // by evidence that J was too small
	since  limit.Instant // of forced
}

// trips sums up round trips.
type trips struct {
	n           int
	began       limit.Instant
	least, most time.Duration
	sum         time.Duration // none counts for more than Bounds.Max
}

const (
	// Of recent round trips there are this many, from this long, or twice that.
	// Answers to calls that leave together come in the order of their round
	// trips: fewer or a shorter time would show the quick ones alone.
	enoughTrips = 64
	enoughTime  = 10 * time.Second

	thinking     = 2               // round trips of more than this many times the least, on average, are mostly Riot's time
	forcedHalves = 5 * time.Minute // the time in which half of what was forced is forgotten
)

// NewMargin makes a margin of which nothing has been learned.
func NewMargin(b Bounds) *Margin { return &Margin{bounds: b, j: max(b.Start, b.Min)} }

// J returns the margin in force.
func (m *Margin) J() time.Duration { return m.j }

// Answered learns from a call whose answer's head came at now, took after its
// sending.
func (m *Margin) Answered(now limit.Instant, took time.Duration) {
	if m.recent.n >= enoughTrips && now.Sub(m.recent.began) >= enoughTime {
		m.before, m.recent = m.recent, trips{}
	}
	m.recent.add(now, took, m.bounds.Max)
	m.update(now)
}

// Exceeded learns from a 429 of our own making, on a call that took so long:
// J was too small.
func (m *Margin) Exceeded(now limit.Instant, took time.Duration) {
	if m.forced > 0 && now.Add(-took) <= m.since {
		return // the call was under way when J grew
	}
	m.forced, m.since = 2*m.j, now
	m.update(now)
}

func (m *Margin) update(now limit.Instant) {
	for m.forced > 0 && now.Sub(m.since) >= forcedHalves {
		m.since = m.since.Add(forcedHalves)
		if m.forced /= 2; m.forced < m.bounds.Min {
			m.forced = 0
		}
	}
	m.j = min(max(m.way(), m.forced, m.bounds.Min), m.bounds.Max)
}

// way bounds what a call takes to Riot, by the recent round trips. It is 0 where
// they show nothing but Riot's own time.
func (m *Margin) way() time.Duration {
	t := m.recent
	if m.before.n > 0 {
		t = trips{n: t.n + m.before.n, least: min(t.least, m.before.least), most: max(t.most, m.before.most), sum: t.sum + m.before.sum}
	}
	switch {
	case t.most <= 2*m.bounds.Min:
		return t.most
	case m.before.n == 0:
		return m.bounds.Start
	case t.sum <= thinking*time.Duration(t.n)*t.least:
		return t.least
	}
	return 0
}

func (t *trips) add(now limit.Instant, d, most time.Duration) {
	if t.n == 0 {
		t.began, t.least = now, d
	}
	t.n++
	t.least, t.most = min(t.least, d), max(t.most, d)
	t.sum += min(d, most)
}
