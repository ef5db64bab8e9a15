package sched

import (
	"slices"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// furnish returns a new scope what its owner wants of it.
func (m *Machine) furnish(s *window.Scope, host, method string) *window.Scope {
	if m.cfg.Shares != nil {
		s.Allot(m.shares(host, method))
	}
	return s
}

// shares returns what of a scope's windows each budget may use here: of what it
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

// freeExtra returns when a lane of the bucket and class that only such limits hold
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
