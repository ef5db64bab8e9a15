package sched

import (
	"time"

	"riftrelay/internal/limit"
)

// Enqueue admits a call at once if it can go, otherwise lets w wait for it: exactly
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
	if r.Deadline > now && !r.Front && !m.room(l, r.Client) {
		return nil, Refusal{QueueFull, m.promise(now, l, r.Client, 0)}
	}
	w.deadline = r.Deadline
	m.join(now, l, w, r)
	if why := m.hopeless(now, w, r); why.Reason != None {
		m.leave(w)
		if why.Reason == Deadline && !r.Front && r.Deadline > now {
			why.Start = m.promise(now, l, r.Client, l.waiting(r.Client))
		}
		return nil, why
	}
	if r.Deadline > now && !r.Front && m.queued > m.cfg.QueueTotal {
		m.pushOut(now, w)
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
		// Those who never queue must not push normal's slot on forever.
		if h.owes(l.line.class) || m.owedIn(now, b, s.key) != nil {
			return nil
		}
		pay(l, s.key)
	}
	m.turn += turn
	l.served, h.served[index(high)] = m.turn, m.turn
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

func (m *Machine) join(now limit.Instant, l *lane, w *Waiter, r Request) {
	w.since = now
	q := m.queue(l, r.Client)
	if l.n == 0 {
		l.line.add(l)
		l.bucket.host.enter(l.line)
	}
	if r.Front {
		q.pushFront(w)
	} else {
		q.pushBack(w)
	}
	m.waits(q, 1)
	m.wake(l.bucket.host, l.bucket.host.wakeAt())
	if m.desk != nil {
		m.seek(now, l)
	}
}

// waits notes a call more, or less, in a queue.
func (m *Machine) waits(q *queue, n int) {
	m.queued += n
	q.lane.grow(q, n)
	q.lane.count(n)
	c := q.party.client
	c.n += n
	m.crowd.fix(&c.node, -int64(c.n))
}

// leave takes a call out of its queue.
func (m *Machine) leave(w *Waiter) {
	q := w.queue
	l, h := q.lane, q.lane.bucket.host
	if l.n == 1 {
		l.line.drop(l)
		h.exit(l.line)
	}
	q.remove(w)
	if m.waits(q, -1); q.n == 0 {
		m.drop(q)
	}
	if h.empty() {
		m.wakes.remove(&h.node)
	}
}

// hopeless refuses a call, just queued, that can't start in time.
func (m *Machine) hopeless(now limit.Instant, w *Waiter, r Request) Refusal {
	if r.Deadline == limit.Never && !m.draining {
		return Refusal{}
	}
	q := w.queue
	l, k := q.lane, q.n
	if r.Front {
		k = 1
	}
	why := m.tooLate(now, r.Deadline, m.predict(now, l, r.Client, k))
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
	if w.queue == nil {
		return false
	}
	l := w.queue.lane
	m.leave(w)
	if m.desk != nil {
		m.given(l)
	}
	return true
}
