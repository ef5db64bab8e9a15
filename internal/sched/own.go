package sched

import (
	"slices"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// OwnLimit is a limit of the owner's own, beside Riot's: it holds for each key
// on each host by itself, as Riot's do.
type OwnLimit struct {
	Host   string // empty: every host
	Method string // empty: the application's calls
	Quotas []limit.Quota
	Until  limit.Instant // Never: until it is removed
}

type ownLimit struct {
	id int
	OwnLimit
}

// maxOwnLimits bounds the limits of the owner's own: each call looks at those
// that concern it.
const maxOwnLimits = 64

// Limit adds a limit. Calls under way count as sent now. It gives the id by
// which Unlimit knows it, -1 when there are too many.
func (m *Machine) Limit(now limit.Instant, o OwnLimit) int {
	if len(m.own) >= maxOwnLimits {
		return -1
	}
	m.ownIDs++
	add := ownLimit{m.ownIDs, o}
	m.own = append(m.own, add)
	m.ownEnds = min(m.ownEnds, o.Until)
	m.eachScope(func(s *window.Scope, host, method string, _ bool) { add.put(s, host, method) })
	for _, p := range m.permits {
		p.hold.Join(now, p.bucket.host.margin.J())
	}
	for _, b := range m.buckets {
		m.tighten(b) // who can't start in time any more is refused at once
	}
	return add.id
}

// Unlimit removes a limit. One that is no more does no harm.
func (m *Machine) Unlimit(now limit.Instant, id int) {
	m.removeLimits(now, func(o ownLimit) bool { return o.id == id })
}

// endLimits removes the limits whose time is over.
func (m *Machine) endLimits(now limit.Instant) {
	m.removeLimits(now, func(o ownLimit) bool { return o.Until <= now })
}

func (m *Machine) removeLimits(now limit.Instant, which func(ownLimit) bool) {
	m.ownEnds = limit.Never
	for _, o := range m.own {
		if which(o) {
			m.eachScope(func(s *window.Scope, _, _ string, _ bool) { s.Unlimit(o.id) })
		} else {
			m.ownEnds = min(m.ownEnds, o.Until)
		}
	}
	m.own = slices.DeleteFunc(m.own, which)
	m.recheck(now)
}

func (o ownLimit) put(s *window.Scope, host, method string) {
	if o.Method == method && (o.Host == "" || o.Host == host) && !s.HasLimit(o.id) {
		s.Limit(o.id, o.Quotas)
	}
}

// furnish gives a new scope what its owner wants of it.
func (m *Machine) furnish(s *window.Scope, host, method string) *window.Scope {
	if m.cfg.Shares != nil {
		s.Allot(m.shares(host, method))
	}
	for _, o := range m.own {
		o.put(s, host, method)
	}
	return s
}

// shares gives what of a scope's windows each budget may use here: of what it
// may use at all, every replica has its part.
func (m *Machine) shares(host, method string) []window.Share {
	all := m.cfg.Shares(host, method)
	if m.replicas <= 1 {
		return all
	}
	parts := slices.Clone(all)
	for i := range parts {
		parts[i].Of /= float64(m.replicas)
	}
	return parts
}

// SetReplicas says how many processes call with the same keys.
func (m *Machine) SetReplicas(now limit.Instant, n int) {
	if n == m.replicas || m.cfg.Shares == nil {
		return
	}
	m.replicas = n
	m.eachScope(func(s *window.Scope, host, method string, first bool) {
		if first {
			s.Allot(m.shares(host, method))
		}
	})
	m.recheck(now)
}

// eachScope visits every scope with its host and method, empty for the
// application's. One that several hosts share (R8) is visited for each of them;
// first is the one that it was made for.
func (m *Machine) eachScope(visit func(s *window.Scope, host, method string, first bool)) {
	for _, h := range m.hosts {
		for _, s := range h.apps {
			if s != nil {
				visit(s, h.name, "", true)
			}
		}
	}
	for _, b := range m.buckets {
		for _, s := range b.set.scopes {
			if s != nil {
				visit(s, b.host.name, b.method, b == b.set.buckets[0])
			}
		}
	}
}

// roomExtra tells how many calls of a lane the limits that don't come from Riot
// let go on a key within the desk's horizon. More needn't be asked for: nobody
// could use it.
func (m *Machine) roomExtra(now limit.Instant, l *lane, key int) int {
	by, p := now.Add(m.desk.horizon), m.policy(l.bucket.host, l.line.class, l.line.class.high)
	room := m.method(l.bucket, max(key, 0)).RoomExtra(now, by, p)
	if key >= 0 {
		room = min(room, m.app(l.bucket.host, key).RoomExtra(now, by, p))
	}
	return room
}

// freeExtra gives when a lane of the bucket and class that only such limits hold
// back is to be asked for.
func (m *Machine) freeExtra(now limit.Instant, b *bucket, key, class int) limit.Instant {
	at := limit.Never
	for _, l := range b.lanes {
		c := l.line.class
		if l.n == 0 || index(c.high) != class || !m.asks(now, l, key) || m.roomExtra(now, l, key) > 0 {
			continue
		}
		p := m.policy(b.host, c, c.high)
		free := m.method(b, max(key, 0)).NextExtra(now, p)
		if key >= 0 {
			free = max(free, m.app(b.host, key).NextExtra(now, p))
		}
		if free < limit.Never {
			at = min(at, free.Add(-m.desk.horizon))
		}
	}
	return at
}
