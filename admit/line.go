package admit

import "riftrelay/limit"

// line holds the lanes of a host that wait for the same application budget.
type line struct {
	class   class
	ready   heap          // lanes that may be tried, served longest ago first
	parked  heap          // lanes whose method has no room, by when it will
	blocked limit.Instant // no lane of ready can go before
}

// wake gives when the line is to be looked at again.
func (q *line) wake() limit.Instant {
	at := q.parked.top()
	if len(q.ready) > 0 {
		at = min(at, q.blocked)
	}
	return at
}

// add takes in a lane that has just got its first call.
func (q *line) add(l *lane) {
	l.parked = false
	q.ready.push(&l.node, l.served)
}

// drop takes out a lane that has no calls any more.
func (q *line) drop(l *lane) {
	if l.parked {
		q.parked.remove(&l.node)
	} else {
		q.ready.remove(&l.node)
	}
}

func (q *line) park(l *lane, until limit.Instant) {
	q.ready.remove(&l.node)
	q.parked.push(&l.node, int64(until))
	l.parked = true
}

func (q *line) unpark(l *lane) {
	q.parked.remove(&l.node)
	q.add(l)
}

// wakeUp readies the lanes whose time has come.
func (q *line) wakeUp(now limit.Instant) {
	for q.parked.top() <= now {
		q.unpark(q.parked[0].lane)
	}
}
