package sched

import (
	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// Sent notes that the call was written.
func (m *Machine) Sent(now limit.Instant, p *Permit) {
	p.hold.Sent(now, p.bucket.host.margin.J())
	if _, leased := p.hold.Leased(); m.desk != nil && !leased && !m.desk.alone {
		m.account(p.bucket.host, p.Key).owe(now) // a probe, which no lease is asked for
	}
	m.changed(now, p.bucket)
}

// Answer ends a permit with the answer's head and returns what it taught.
func (m *Machine) Answer(now limit.Instant, p *Permit, a window.Answer) window.Lesson {
	app, method := m.use(p.bucket, p.Key)
	if n := p.bucket.parts; n > 1 {
		a.MethodLimit, a.MethodCount = limit.Divided(a.MethodLimit, a.MethodCount, n, method.Shortest() > 0)
	}
	h := p.bucket.host
	margin := h.margin
	sentAt, sent := p.hold.IsSent()
	if sent {
		margin.Answered(now, now.Sub(sentAt))
	}
	lesson := m.learn(now, p, a, app, method)
	if sent && (lesson.Unexplained || lesson.Tripped) {
		margin.Exceeded(now, now.Sub(sentAt))
	}
	if lesson.AppTighter || lesson.MethodTighter {
		m.tightened(p.bucket, lesson)
	}
	if lesson.Fresh {
		for _, q := range m.permits {
			if q.bucket.host == h || q.bucket.set == p.bucket.set {
				q.hold.Join(now, margin.J())
			}
		}
	}
	at := p.hold.Settle(now, margin.J())
	if m.desk != nil {
		m.settled(now, p, at, false)
		m.taught(now, p, a, lesson, app, method)
	}
	m.finish(now, p)
	return lesson
}

// Stands reports whether a call that was admitted may still be sent: no 429 has
// stopped its budgets since, nobody has disabled its key, and a store's lease, if
// it goes on one, is good.
func (m *Machine) Stands(now limit.Instant, p *Permit) bool {
	if now >= m.StandsUntil(p) {
		return false
	}
	return !p.hold.Stopped(now) && (p.Key < 0 || !m.ring.keys[p.Key].disabled)
}

// StandsUntil returns by when a call that was admitted has to be sent: Never
// without a store. A lease's charge may have expired before a later call
// arrives, and what was admitted without the store others may have by then.
func (m *Machine) StandsUntil(p *Permit) limit.Instant {
	switch x, leased := p.hold.Leased(); {
	case leased:
		return x.By
	case m.desk != nil:
		return p.hold.Taken().Add(limit.SendBy)
	}
	return limit.Never
}

// Release ends a permit without an answer: what was never written costs
// nothing, what was may have been counted (R3), or may still be.
func (m *Machine) Release(now limit.Instant, p *Permit) {
	_, sent := p.hold.IsSent()
	if m.desk != nil {
		m.settled(now, p, p.hold.Latest(), !sent)
	}
	if sent {
		p.hold.Abandon()
	} else {
		p.hold.Refund()
	}
	m.finish(now, p)
}

// maxSpare bounds the permits kept for later use: a burst leaves no memory
// behind.
const maxSpare = 8192

func (m *Machine) finish(now limit.Instant, p *Permit) {
	if p.probe {
		m.probed(now, p)
	}
	b, last := p.bucket, len(m.permits)-1
	m.permits[p.index] = m.permits[last]
	m.permits[p.index].index = p.index
	m.permits[last] = nil
	m.permits = m.permits[:last]
	p.bucket = nil
	if len(m.spare) < maxSpare {
		m.spare = append(m.spare, p)
	}
	m.changed(now, b)
}

// changed looks again at what waits for the budgets of a bucket and of its
// host's application, and at nothing else.
func (m *Machine) changed(now limit.Instant, b *bucket) {
	for _, same := range b.set.buckets {
		m.lookAgain(now, same)
	}
}

func (m *Machine) lookAgain(now limit.Instant, b *bucket) {
	h := b.host
	if h.empty() {
		return
	}
	for _, q := range h.busy {
		q.changed()
	}
	for _, l := range b.lanes {
		if l.n > 0 && l.in == &l.line.parked {
			l.line.unpark(l)
		}
	}
	m.wake(h, now)
}

// SetBurst changes the share of each window that needs no pacing.
func (m *Machine) SetBurst(now limit.Instant, b float64) {
	m.cfg.Burst = b
	m.recheck(now)
}

// recheck looks at everything that waits again, and has it asked for again: on
// which keys a call may go may have changed.
func (m *Machine) recheck(now limit.Instant) {
	for _, h := range m.hosts {
		m.recheckHost(now, h)
	}
}

func (m *Machine) recheckHost(now limit.Instant, h *host) {
	if h.empty() {
		return
	}
	for _, q := range h.busy {
		q.changed()
		for len(q.parked) > 0 {
			q.unpark(q.parked[0].lane)
		}
	}
	m.wake(h, now)
	m.seekHost(now, h)
}

// Drain takes no more calls, and refuses those queued that can't start before
// until.
func (m *Machine) Drain(now, until limit.Instant, refuse func(*Waiter, limit.Instant)) {
	m.draining, m.until = true, until
	for _, b := range m.buckets {
		for _, l := range b.lanes {
			for q := l.head; q != nil; {
				next := q.next // q is no more once it is empty
				for q.n > 0 {
					start := m.predict(now, l, q.party.client.name, q.n)
					if start < until {
						break
					}
					w := q.tail
					m.leave(w)
					refuse(w, start)
				}
				q = next
			}
		}
	}
}
