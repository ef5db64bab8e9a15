package admit

import (
	"time"

	"riftrelay/limit"
)

// Enqueue admits a call at once if it can go, else lets w wait for it: exactly
// one of permit, refusal and waiting is the result. Others may have to be let
// go first: Poll next, and only then Cancel a call that goes now or never.
func (m *Machine) Enqueue(now limit.Instant, w *Waiter, r Request) (*Permit, Refusal) {
	if m.draining && (!r.Front || now >= m.until) {
		return nil, Refusal{Draining, limit.Never}
	}
	c := r.class()
	if !c.keyless && len(m.ring.candidates(c)) == 0 {
		return nil, Refusal{NoKey, limit.Never}
	}
	b := m.bucket(now, r)
	if b == nil {
		return nil, Refusal{QueueFull, now.Add(time.Second)}
	}
	l := b.lane(c)
	if !m.usable(b, c) {
		return m.tryProbe(now, l)
	}
	if p := m.straight(now, l); p != nil {
		return p, Refusal{}
	}
	if r.Deadline > now && !r.Front && (b.queued >= m.cfg.QueueCapacity || m.queued >= m.cfg.QueueTotal) {
		return nil, Refusal{QueueFull, m.predict(now, l, 1)}
	}
	w.deadline = r.Deadline
	m.join(now, l, w, r.Front)
	if why := m.hopeless(now, l, r); why.Reason != None {
		m.leave(l, w)
		return nil, why
	}
	return nil, Refusal{}
}

// straight admits a call of lane l that needn't queue: nobody waits that could
// go instead.
func (m *Machine) straight(now limit.Instant, l *lane) *Permit {
	b, h := l.bucket, l.bucket.host
	if l.n > 0 || len(l.line.ready) > 0 || h.pos >= 0 && limit.Instant(h.key) <= now {
		return nil
	}
	high := l.line.class.high
	policy := m.policy(h, l.line.class, high)
	s := m.find(now, l, policy)
	if s.at > now {
		return nil
	}
	if high {
		// Those who never queue must not push normal's slot on for ever.
		if h.owes(l.line.class) || m.owedIn(now, b, s.key) != nil {
			return nil
		}
		pay(l, s.key)
	}
	m.turn++
	l.served = m.turn
	return m.admit(now, l, s.key, policy)
}

// tryProbe admits a call whose keys are all suspect, if a probe is due.
func (m *Machine) tryProbe(now limit.Instant, l *lane) (*Permit, Refusal) {
	policy := m.policy(l.bucket.host, l.line.class, true)
	if s := m.find(now, l, policy); s.at <= now {
		return m.admit(now, l, s.key, policy), Refusal{}
	}
	return nil, Refusal{NoKey, m.nextProbe(now, l.bucket, l.line.class)}
}

func (m *Machine) join(now limit.Instant, l *lane, w *Waiter, front bool) {
	w.since = now
	if l.n == 0 {
		l.line.add(l)
		l.bucket.host.enter(l.line)
	}
	if front {
		l.pushFront(w)
	} else {
		l.pushBack(w)
	}
	m.queued++
	l.count(1)
	m.wake(l.bucket.host, l.bucket.host.wakeAt())
	if m.desk != nil {
		m.seek(now, l)
	}
}

// leave takes a call out of its lane.
func (m *Machine) leave(l *lane, w *Waiter) {
	h := l.bucket.host
	if l.n == 1 {
		l.line.drop(l)
		h.exit(l.line)
	}
	l.remove(w)
	m.queued--
	l.count(-1)
	if h.empty() {
		m.wakes.remove(&h.node)
	}
}

// hopeless refuses a call of lane l, just queued, that can't start in time.
func (m *Machine) hopeless(now limit.Instant, l *lane, r Request) Refusal {
	if r.Deadline == limit.Never && !m.draining {
		return Refusal{}
	}
	k := l.n
	if r.Front {
		k = 1
	}
	why := m.tooLate(now, r.Deadline, m.predict(now, l, k))
	if why.Reason == Deadline {
		m.reached(now, l, m.policy(l.bucket.host, l.line.class, r.High))
	}
	return why
}

// tooLate refuses a call that would start at start, if that is no use.
func (m *Machine) tooLate(now, deadline, start limit.Instant) Refusal {
	switch {
	case start > max(deadline, now):
		return Refusal{Deadline, start}
	case m.draining && start >= m.until:
		return Refusal{Draining, start}
	}
	return Refusal{}
}

// Cancel takes a call out of its queue. It reports false when the call isn't
// in one: it has been let go.
func (m *Machine) Cancel(w *Waiter) bool {
	if w.lane == nil {
		return false
	}
	l := w.lane
	m.leave(l, w)
	if m.desk != nil {
		m.given(l)
	}
	return true
}
