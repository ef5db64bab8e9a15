package sched

import "riftrelay/internal/limit"

// Disable keeps all calls off a key, probes too, until Enable. What is under
// way on it ends as it would have. since is when it was disabled, which may
// have been before a restart. Expel and Poll belong after it.
func (m *Machine) Disable(now limit.Instant, id int, since limit.Instant) {
	k := &m.ring.keys[id]
	if k.disabled {
		return
	}
	k.disabled, k.since = true, since
	m.tell(Change{Kind: KeyDisabled, At: now, Key: id})
	m.ring.open(id)
	m.expel = true
	m.recheck(now) // others may have to do what it was to
}

// Enable takes a disabled key back, as it was: a suspect one is still suspect.
// Poll belongs after it.
func (m *Machine) Enable(now limit.Instant, id int) {
	k := &m.ring.keys[id]
	if !k.disabled {
		return
	}
	k.disabled, k.since = false, 0
	m.tell(Change{Kind: KeyEnabled, At: now, Key: id})
	m.ring.open(id)
	m.recheck(now)
}

// Recheck has the next probe of a suspect key due now, and the APIs that a key
// was refused tried on it again. Poll belongs after it.
func (m *Machine) Recheck(now limit.Instant, id int) {
	m.eachRecord(id, func(_ *endpoint, s *record) {
		if s.next < limit.Never {
			s.next = min(s.next, now)
		}
	})
	m.recheck(now)
}
