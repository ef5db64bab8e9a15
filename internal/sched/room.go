package sched

import "riftrelay/internal/limit"

// Each client has a queue of its own in each lane, bounded by
// Config.QueueCapacity. Config.QueueTotal bounds all of them together. When it is
// reached, the client with most calls makes room: so none can fill it for others.

// pushed is a call that made room for another one, for Expel.
type pushed struct {
	w   *Waiter
	why Refusal
}

// room reports whether one more call of a client may wait in lane l, once
// pushOut has been called.
func (m *Machine) room(l *lane, client string) bool {
	if l.waiting(client) >= m.cfg.QueueCapacity {
		return false
	}
	n := 1
	if c := m.clients[client]; c != nil {
		n = c.n + 1
	}
	return m.queued < m.cfg.QueueTotal || m.victim(l.line.class.high, n) != nil
}

// victim returns the queue whose last call makes room for a call of a client of
// which n calls wait then; nil if there is none. High priority takes the place of
// normal priority, whoever calls.
func (m *Machine) victim(high bool, n int) *queue {
	if len(m.crowd) == 0 {
		return nil
	}
	c := m.crowd[0].client
	p := c.parties[len(c.parties)-1]
	for _, x := range c.parties {
		if !x.high {
			p = x
			break
		}
	}
	if n < c.n || high && !p.high {
		return p.queues[len(p.queues)-1]
	}
	return nil
}

// pushOut makes room for w, which has just joined a queue.
func (m *Machine) pushOut(now limit.Instant, w *Waiter) {
	q := m.victim(w.queue.party.high, w.queue.party.client.n)
	if q == nil {
		return
	}
	l, out := q.lane, q.tail
	start := m.promise(now, l, q.party.client.name, q.n-1)
	m.leave(out)
	if m.desk != nil {
		m.given(l)
	}
	m.pushed = append(m.pushed, pushed{out, Refusal{QueueFull, start}})
}

// waiting counts the calls of a client that wait in the lane.
func (l *lane) waiting(client string) int {
	if q := l.find(client); q != nil {
		return q.n
	}
	return 0
}
