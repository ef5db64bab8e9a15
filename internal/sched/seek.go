package sched

import "riftrelay/internal/limit"

// A call that waits has to be asked for at the store, on a key that it may go
// on. Which key that is changes with keys, stops and limits. So after each
// change of these every lane that it may concern is sought again: see recheck
// and after.
//
// What changes by time alone has no event: a suspect key is due for a probe, or
// a key that was refused a method is to be tried there again. So everything that
// waits is also sought once in seekEvery: no change can strand a call for longer.
const seekEvery = limit.MostWait

// seekAll seeks all lanes with calls.
func (m *Machine) seekAll(now limit.Instant) {
	m.desk.sought = now
	for _, h := range m.hosts {
		m.seekHost(now, h)
	}
}

// seekHost seeks the lanes of a host that have calls.
func (m *Machine) seekHost(now limit.Instant, h *host) {
	if m.desk == nil {
		return
	}
	m.eachWaiting(h, func(l *lane) { m.seek(now, l) })
}

// eachWaiting visits the lanes of a host that have calls.
func (m *Machine) eachWaiting(h *host, visit func(*lane)) {
	for _, line := range h.busy {
		for _, heap := range [...]heap{line.ready, line.parked, line.split} {
			for _, n := range heap {
				visit(n.lane)
			}
		}
	}
}

// seek has a lane's calls asked for: on the key that may be asked first.
func (m *Machine) seek(now limit.Instant, l *lane) {
	m.desk.now = now
	b := l.bucket
	if l.line.class.keyless {
		m.desk.wants(m.account(b.host, -1), m.askAt(now, l, -1))
		return
	}
	best, first := -1, limit.Never
	ids := m.ring.candidates(l.line.class)
	start := 0
	if l.line.class.pin < 0 {
		start = b.host.turn(int(l.line.class.group), len(ids))
	}
	for i := range ids {
		id := ids[(start+i)%len(ids)]
		if !m.asks(now, l, id) || m.account(b.host, id).asking {
			continue
		}
		if at := m.askAt(now, l, id); at < first {
			best, first = id, at
		}
	}
	if best >= 0 {
		m.desk.wants(m.account(b.host, best), first)
	}
}

// askAt returns when a lane's calls may be asked for on a key: when the store said
// so, and not long before a stop is over.
func (m *Machine) askAt(now limit.Instant, l *lane, key int) limit.Instant {
	s := m.method(l.bucket, max(key, 0))
	opens := s.Opens(now)
	if key >= 0 {
		opens = max(opens, m.app(l.bucket.host, key).Opens(now))
	}
	return max(now, s.AskAt(index(l.line.class.high)), opens.Add(-m.desk.horizon))
}
