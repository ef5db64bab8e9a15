package limit

import "time"

// Bounds are the ends between which a Margin moves, and where it starts.
type Bounds struct {
	Start, Min, Max time.Duration
}

// Margin is J, learned: the most that the way to Riot may take longer for one
// call than for another. What can be seen of it are round trips: their spread
// is at least that of the way up, so J is a quarter more than the largest
// excess of the last half minute to minute over the least of the last ten,
// and 2 ms. It shrinks only once there are enough of them, and grows at once.
// Where TCP tells of the connection, they are those of the network alone.
//
// The danger is a delay that falls: calls under way are then overtaken. It is
// covered for as long as the least round trip is remembered.
type Margin struct {
	bounds  Bounds
	j       time.Duration
	samples int
	least   extreme // of round trips
	most    extreme
	forced  time.Duration // by evidence that J was too small
	since   Instant       // of forced

	peers time.Duration // J of other replicas, for as long as there are too few round trips
	apart time.Duration // what the way is longer than that of the nearest of them
}

const (
	enoughSamples = 20
	leastMemory   = 10 * time.Minute
	mostMemory    = time.Minute
	forcedHalves  = 5 * time.Minute // the time in which half of what was forced is forgotten
)

// NewMargin makes a margin of which nothing has been learned.
func NewMargin(b Bounds) *Margin {
	return &Margin{bounds: b, j: b.Start, least: extreme{memory: leastMemory, sign: -1}, most: extreme{memory: mostMemory, sign: 1}}
}

// J gives the margin in force.
func (m *Margin) J() time.Duration { return m.j + m.apart }

// Least gives the least round trip that is remembered; 0 if none is.
func (m *Margin) Least() time.Duration {
	if m.samples == 0 {
		return 0
	}
	return m.least.value
}

// Compare takes over what other replicas have found: their J, and the least
// round trip of all. The way of one call may be longer than that of another
// also because it comes from elsewhere.
func (m *Margin) Compare(now Instant, j, trip time.Duration) {
	m.peers, m.apart = j, 0
	if least := m.Least(); trip > 0 && least > trip {
		m.apart = least - trip
	}
	m.update(now)
}

// Back gives a time that the way back took at least, of a round trip: half of
// the least that is remembered. It is right as long as the delay hasn't fallen
// to less than half of that, and even then where the way back is half of the
// round trip. All of the least would be right for a delay that never falls; it
// fails while the least isn't the least yet.
func (m *Margin) Back(trip time.Duration) time.Duration {
	if m.samples < enoughSamples {
		return 0
	}
	return min(m.least.value, trip) / 2
}

// Answered learns from a call whose answer's head came at now, took after its
// sending.
func (m *Margin) Answered(now Instant, took time.Duration, tcp TCP) {
	m.add(now, tcp.trip(took, true), tcp.Tells() && tcp.Resent > 0)
	m.samples++
	m.update(now)
}

// Exceeded learns from a sign that J was too small: a 429 of our own making, or
// a count that our own calls don't explain, on a call that took so long.
func (m *Margin) Exceeded(now Instant, took time.Duration, tcp TCP) {
	most := tcp.trip(took, true).most
	if m.forced > 0 && now.Add(-took) <= m.since {
		m.forced = max(m.forced, most) // it was under way when J grew
	} else {
		m.forced, m.since = max(2*m.j, most), now
	}
	m.update(now)
}

func (m *Margin) update(now Instant) {
	spread := m.most.value - m.least.value
	j := spread + spread/4 + 2*time.Millisecond
	if m.samples < enoughSamples {
		j = max(j, m.bounds.Start, m.peers)
	}
	for m.forced > 0 && now.Sub(m.since) >= forcedHalves {
		m.since = m.since.Add(forcedHalves)
		if m.forced /= 2; m.forced < m.bounds.Min {
			m.forced = 0
		}
	}
	m.j = min(max(j, m.forced, m.bounds.Min), m.bounds.Max)
}

// extreme keeps the largest value of the last memory/2 to memory, or with sign
// -1 the least.
type extreme struct {
	memory time.Duration
	sign   time.Duration
	value  time.Duration // of both halves

	began           Instant
	older, current  time.Duration
	hasOlder, begun bool
}

// turns returns when the older half of the values is forgotten next.
func (e *extreme) turns() Instant { return e.began.Add(e.memory / 2) }

// add takes in a value, and reports whether everything before was forgotten.
func (e *extreme) add(now Instant, v time.Duration) (forgot bool) {
	if half := e.memory / 2; !e.begun || now.Sub(e.began) >= half {
		e.older, e.hasOlder = e.current, e.begun && now.Sub(e.began) < e.memory
		forgot = !e.hasOlder
		e.current, e.began, e.begun = v, now, true
	} else if e.sign*(v-e.current) > 0 {
		e.current = v
	}
	e.value = e.current
	if e.hasOlder && e.sign*(e.older-e.value) > 0 {
		e.value = e.older
	}
	return forgot
}
