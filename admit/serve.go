package admit

import "riftrelay/limit"

// next lets the next call of a host go; nil when none can.
func (m *Machine) next(now limit.Instant, h *host) (*Waiter, *Permit) {
	for _, q := range h.lines {
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

// owed serves normal's twentieth turn, which skips pacing: else normal would
// never find a slot that high has not taken.
func (m *Machine) owed(now limit.Instant, h *host) (*Waiter, *Permit) {
	policy := m.policy(true)
	var best *lane
	var key int
	for _, q := range h.lines {
		if q.class.high || q.class.keyless {
			continue
		}
		for len(q.ready) > 0 {
			l := q.ready[0].lane
			if best != nil && best.served <= l.served {
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
			q.setAside(now, l, s)
		}
	}
	if best == nil {
		return nil, nil
	}
	return m.grant(now, best, key, policy)
}

// serve lets a call of the given priority go.
func (m *Machine) serve(now limit.Instant, h *host, high bool) (*Waiter, *Permit) {
	policy := m.policy(high)
	for {
		l := h.longestUnserved(now, high)
		if l == nil {
			return nil, nil
		}
		s := m.find(now, l, policy)
		if s.at > now {
			l.line.setAside(now, l, s)
			continue
		}
		if high {
			// The method's own budget has its twentieth turn as well.
			if other := l.bucket.owed(s.key); other != nil {
				l = other
			}
		}
		return m.grant(now, l, s.key, policy)
	}
}

// grant lets the head of lane l go.
func (m *Machine) grant(now limit.Instant, l *lane, key int, p limit.Policy) (*Waiter, *Permit) {
	w := l.head
	if l.in != &l.line.ready {
		l.line.unpark(l)
	}
	pay(l, key)
	m.turn++
	l.served = m.turn
	m.leave(l, w)
	if l.n > 0 {
		l.line.ready.fix(&l.node, l.served)
	}
	return w, m.admit(now, l, key, p)
}

// admit charges for a call of lane l on a key.
func (m *Machine) admit(now limit.Instant, l *lane, key int, policy limit.Policy) *Permit {
	var p *Permit
	if n := len(m.spare); n > 0 {
		p, m.spare[n-1] = m.spare[n-1], nil
		m.spare = m.spare[:n-1]
	} else {
		p = new(Permit)
	}
	p.Key, p.bucket, p.index = key, l.bucket, len(m.permits)
	m.permits = append(m.permits, p)
	app, method := m.use(l.bucket, key)
	p.hold.Take(now, policy, &l.bucket.service, app, method)
	if key >= 0 {
		l.bucket.host.turn = (key + 1) % m.cfg.Keys
	}
	return p
}

// slot is where a call of a lane can go earliest. A method that is exhausted
// on key 0 until 9s, with room on key 1 whose application is full until 3s,
// has {key: 1, at: 3s, app: now, method: now}: room of either kind, but of
// both not before 3s.
type slot struct {
	key    int           // -1 for a keyless call
	at     limit.Instant // now if at once
	app    limit.Instant // when any of the application's budgets has room, whatever the method's
	method limit.Instant // when any of the method's has, whatever the application's
}

// find gives the slot of lane l; ties among keys go round robin.
func (m *Machine) find(now limit.Instant, l *lane, p limit.Policy) slot {
	b := l.bucket
	service := b.service.Next(now)
	if b.keyless {
		at := max(service, m.method(b, 0).Next(now, p))
		return slot{key: -1, at: at, app: now, method: at}
	}
	if pin := int(l.line.class.pin); pin >= 0 {
		app, method := m.app(b.host, pin).Next(now, p), max(service, m.method(b, pin).Next(now, p))
		return slot{key: pin, at: max(app, method), app: app, method: method}
	}
	best := slot{key: -1, at: limit.Never, app: limit.Never, method: limit.Never}
	k := b.host.turn
	for range m.cfg.Keys {
		app, method := m.app(b.host, k).Next(now, p), max(service, m.method(b, k).Next(now, p))
		if at := max(app, method); best.key < 0 || at < best.at {
			best.key, best.at = k, at
		}
		best.app, best.method = min(best.app, app), min(best.method, method)
		if best.at <= now {
			break
		}
		if k++; k == m.cfg.Keys {
			k = 0
		}
	}
	return best
}
