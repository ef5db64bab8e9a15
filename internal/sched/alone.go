package sched

import "riftrelay/internal/limit"

// SetPhase sets Config.Phase, for when the machine next judges by itself.
func (m *Machine) SetPhase(phase float64) { m.cfg.Phase = phase }

// GoAlone has the machine judge by itself, the store being away: within a share
// of each limit that all replicas can use at once. Called again with another
// number of replicas, the share is another. Where their number isn't known, 0,
// the machine goes by Riot's counts.
func (m *Machine) GoAlone(now limit.Instant, replicas int) {
	d := m.desk
	if d.alone && d.replicas == replicas {
		return
	}
	d.alone, d.replicas, d.closed = true, replicas, false
	for _, h := range m.hosts {
		for _, s := range h.apps {
			if s != nil {
				s.SetPhase(m.cfg.Phase)
				s.GoAlone(now, d.replicas, h.margin.J())
			}
		}
	}
	for _, b := range m.buckets {
		for _, s := range b.set.scopes {
			if s != nil {
				s.SetPhase(m.cfg.Phase)
				s.GoAlone(now, d.replicas, b.host.margin.J())
			}
		}
	}
	m.unusedApp.GoAlone(now, d.replicas, m.cfg.Margin)
	m.unusedMethod.GoAlone(now, d.replicas, m.cfg.Margin)
	for _, a := range d.accounts {
		a.done, a.facts, a.with, a.flush = nil, nil, nil, limit.Never
		a.owe(now)
	}
	m.recheck(now)
}

// Rejoin has the store judge again. Until the given moment, by when all replicas
// have told it what they spent, each keeps to its share as well.
func (m *Machine) Rejoin(now, until limit.Instant) {
	d := m.desk
	d.closed = false
	if !d.alone {
		return
	}
	d.alone, d.trusted = false, until
	for _, h := range m.hosts {
		for _, s := range h.apps {
			if s != nil {
				s.Rejoin(until)
			}
		}
	}
	for _, b := range m.buckets {
		for _, s := range b.set.scopes {
			if s != nil {
				s.Rejoin(until)
			}
		}
	}
	m.unusedApp.Rejoin(0)
	m.unusedMethod.Rejoin(0)
	for _, a := range d.accounts {
		m.desk.wants(a, now)
	}
	m.recheck(now)
}

// lost notes that the store knows nothing any longer of a budget: leases are void,
// and it is to be told all that was spent.
func (m *Machine) lost(now limit.Instant, a *account) {
	a.merge, a.told, a.from = m.hasSpent(now, a), nil, -limit.Never
	a.done = nil
	for _, b := range a.with {
		_, s := m.use(b, a.key)
		s.Spare(now, [2]int{})
	}
	a.with = nil
}

// Hint has a budget that may have changed asked about; with an empty host all
// of them. A budget that is new in the store has an epoch.
func (m *Machine) Hint(now limit.Instant, key int, host string, epoch int64) {
	for id, a := range m.desk.accounts {
		if host != "" && (id.key != key || id.host.name != host) {
			continue
		}
		for _, b := range m.buckets {
			if b.host == a.host {
				if s := at(b.set.scopes, max(a.key, 0)); s != nil {
					s.AskAgain(0, 0, limit.WaitNone)
					s.AskAgain(1, 0, limit.WaitNone)
				}
			}
		}
		if other := host == "" || epoch != 0 && epoch != a.epoch; other && a.epoch != 0 && m.hasSpent(now, a) {
			a.hear = true
		}
		m.desk.wants(a, now)
	}
}

// Suspected tells of a key's health what another replica found.
func (m *Machine) Suspected(now limit.Instant, id int, suspect bool) {
	k := &m.ring.keys[id]
	if !k.live || k.suspect == suspect {
		return
	}
	if suspect {
		m.suspend(now, id)
		return
	}
	m.eachRecord(id, func(e *endpoint, _ *record) { e.drop(id) })
	k.suspect, k.against = false, evidence{}
	m.ring.open(id)
	m.recheck(now)
}
