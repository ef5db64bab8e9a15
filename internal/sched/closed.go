package sched

import (
	"time"

	"riftrelay/internal/limit"
)

// Close has nothing go until Rejoin or GoAlone, the store being away: no replica may
// judge by itself.
func (m *Machine) Close(now limit.Instant) {
	d := m.desk
	if d.closed {
		return
	}
	d.closed, d.shut = true, now
	for _, b := range m.buckets {
		m.tighten(b)
	}
}

const (
	leastAway = 2 * time.Second
	mostAway  = time.Minute
)

// reopens returns when the store is expected back: nobody knows, so in as long as it
// has been away.
func (d *desk) reopens(now limit.Instant) limit.Instant {
	return now.Add(min(max(now.Sub(d.shut), leastAway), mostAway))
}

// closed reports whether nothing goes because the store is away.
func (m *Machine) closed() bool { return m.desk != nil && m.desk.closed }
