package sched

import (
	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// next lets the next call of a host go; nil when none can.
func (m *Machine) next(now limit.Instant, h *host) (*Waiter, *Permit) {
	for _, q := range h.busy {
		q.wakeUp(now)
	}
	if h.credit >= fairShare && h.keyed > 0 {
		if w, p := m.owed(now, h); w != nil {
			return w, p
		}
	}
	for _, high := range [...]bool{true, false} {
		if h.waiting[index(high)] == 0 {
			continue
		}
		if w, p := m.serve(now, h, high); w != nil {
			return w, p
		}
	}
	return nil, nil
}

// owed serves normal's twentieth turn, which skips pacing: otherwise normal would
// never find a slot that high has not taken.
func (m *Machine) owed(now limit.Instant, h *host) (*Waiter, *Permit) {
	if l, key := m.longestUnpaced(now, h); l != nil {
		return m.grant(now, l, key, true)
	}
	return nil, nil
}

// longestUnpaced finds, of the lanes of normal priority that want the
// application's budget, the one served longest ago that could go, were there no
// pacing; and the key for it.
func (m *Machine) longestUnpaced(now limit.Instant, h *host) (best *lane, key int) {
	for _, q := range h.busy {
		if q.class.high || q.class.keyless {
			continue
		}
		policy := m.policy(h, q.class, true)
		policy.High = true // a turn that high owes goes without what is kept for high
		for len(q.ready) > 0 {
			l := q.ready[0].lane
			if best != nil && !l.before(best) {
				break
			}
			s := m.find(now, l, policy)
			if s.at <= now {
				best, key = l, s.key
				break
			}
			if s.app > now {
				break
			}
			m.reached(now, l, policy)
			q.setAside(now, l, s)
		}
	}
	return best, key
}

// serve lets a call of the given priority go.
func (m *Machine) serve(now limit.Instant, h *host, high bool) (*Waiter, *Permit) {
	for {
		l := h.longestUnserved(now, high)
		if l == nil {
			return nil, nil
		}
		policy := m.policy(h, l.line.class, high)
		s := m.find(now, l, policy)
		if s.at > now {
			m.reached(now, l, policy)
			l.line.setAside(now, l, s)
			continue
		}
		if high {
			// The method's own budget has its twentieth turn as well.
			if other := m.owedIn(now, l.bucket, s.key); other != nil {
				l = other
			}
		}
		return m.grant(now, l, s.key, high)
	}
}

// grant lets a call of lane l go.
func (m *Machine) grant(now limit.Instant, l *lane, key int, unpaced bool) (*Waiter, *Permit) {
	p := m.policy(l.bucket.host, l.line.class, unpaced)
	if l.in != &l.line.ready {
		l.line.unpark(l)
	}
	pay(l, key)
	m.turn += turn
	q := l.turn()
	q.granted(m.turn)
	l.scarce = false
	w := q.head
	m.leave(w)
	return w, m.admit(now, l, key, p)
}

// admit charges for a call of lane l on a key.
func (m *Machine) admit(now limit.Instant, l *lane, key int, policy window.Policy) *Permit {
	var p *Permit
	if n := len(m.spare); n > 0 {
		p, m.spare[n-1] = m.spare[n-1], nil
		m.spare = m.spare[:n-1]
	} else {
		p = new(Permit)
	}
	p.Key, p.bucket, p.index, p.reported, p.since = key, l.bucket, len(m.permits), false, now
	m.permits = append(m.permits, p)
	app, method := m.use(l.bucket, key)
	m.take(now, p, policy, app, method)
	if key >= 0 {
		k := &m.ring.keys[key]
		l.bucket.host.pass(k.group, k.index)
		if m.ring.from[key] != 0 || l.bucket.endpoint.keys != nil {
			m.tries(now, p)
		}
	}
	return p
}

// slot is where a call of a lane can go. A method that is exhausted on key 0
// until 9s, with room on key 1 whose application is full until 3s, has {key: 1,
// at: 3s, app: now, method: now}: room of either kind, but of both not before
// 3s.
type slot struct {
	key    int           // -1 for a keyless call; only if at is now
	at     limit.Instant // now if at once, otherwise not before
	app    limit.Instant // when any of the application's budgets has room, whatever the method's
	method limit.Instant // when any of the method's has, whatever the application's; only if app is now
}

// find returns the slot of lane l; of several keys the first in turn.
func (m *Machine) find(now limit.Instant, l *lane, p window.Policy) slot {
	b := l.bucket
	service := b.service.Next(now)
	if b.keyless {
		at := max(service, m.method(b, 0).Next(now, p))
		return slot{key: -1, at: at, app: now, method: at}
	}
	c := l.line.class
	if c.first {
		return m.findFirst(now, l, service, p)
	}
	ids := m.ring.candidates(c)
	first := 0
	if c.pin < 0 {
		first = b.host.turn(int(c.group), len(ids))
	}
	s := slot{key: -1, at: limit.Never, app: limit.Never, method: limit.Never}
	i := first
	for range ids {
		id := ids[i]
		app := max(m.ring.from[id], m.appNext(now, b, id, p))
		s.app = min(s.app, app)
		if app <= now && m.methodNext(now, b, id, c, ids, service, p) <= now {
			return slot{key: id, at: now, app: now, method: now}
		}
		if i++; i == len(ids) {
			i = 0
		}
	}
	if s.app > now {
		s.at = s.app
		return s // with so many keys it matters not to ask all methods
	}
	for _, id := range ids {
		app, method := max(m.ring.from[id], m.appNext(now, b, id, p)), m.methodNext(now, b, id, c, ids, service, p)
		s.at, s.method = min(s.at, max(app, method)), min(s.method, method)
	}
	return s
}

// methodNext returns when a method has room on a key, or is worth trying there
// again.
func (m *Machine) methodNext(now limit.Instant, b *bucket, id int, c class, ids []int, service limit.Instant, p window.Policy) limit.Instant {
	if m.ring.from[id] == probesOnly {
		return max(service, b.endpoint.next(id), m.probeNext(now, m.method(b, id), p))
	}
	t := max(service, m.method(b, id).Next(now, p))
	if b.endpoint.keys != nil && c.pin < 0 {
		t = max(t, m.ring.shuns(now, b, id, ids))
	}
	return t
}

// appNext returns when the application has room on a key.
func (m *Machine) appNext(now limit.Instant, b *bucket, id int, p window.Policy) limit.Instant {
	if m.ring.from[id] == probesOnly {
		return m.probeNext(now, m.app(b.host, id), p)
	}
	return m.app(b.host, id).Next(now, p)
}

// probeNext returns when a scope lets a probe go. With a store a probe goes
// without a lease, and the store is told of it: most are refused uncounted (R3).
func (m *Machine) probeNext(now limit.Instant, s *window.Scope, p window.Policy) limit.Instant {
	if m.desk != nil && !m.desk.alone {
		return s.Opens(now)
	}
	return s.Next(now, p)
}
