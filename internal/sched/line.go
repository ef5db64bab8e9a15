package sched

import (
	"time"

	"riftrelay/internal/limit"
)

// line holds the lanes of a host that wait for the same application budget.
// A lane with calls is in exactly one of its heaps.
type line struct {
	class   class
	lanes   int           // those with calls
	pos     int           // in host.busy, while there are any
	ready   heap          // lanes that may be tried, in the order of their turns
	parked  heap          // lanes whose method has no room on any key, by when it will
	split   heap          // lanes with room for the method on one key, for the application on another, by when one has both
	blocked limit.Instant // no lane of ready can go before
}

// wake returns when the line is to be looked at again.
func (q *line) wake() limit.Instant {
	at := min(q.parked.top(), q.split.top())
	if len(q.ready) > 0 {
		at = min(at, q.blocked)
	}
	return at
}

// add takes in a lane that may be tried.
func (q *line) add(l *lane) {
	if len(q.ready) == 0 {
		q.blocked = 0 // of earlier times: while nobody waits, nobody keeps it up to date
	}
	q.put(l, &q.ready, l.queues[0].key, l.queues[0].last)
}

func (q *line) put(l *lane, in *heap, key, last int64) {
	in.rank(&l.node, key, last)
	l.in = in
}

// drop takes out a lane that has no calls any longer.
func (q *line) drop(l *lane) {
	l.in.remove(&l.node)
	l.in = nil
}

// longestSleep is how long a lane waits for an event before it is looked at
// again. Events are announced, so this changes nothing while every one of them
// is. An event that is missed costs this time, and never stops the lane forever.
const longestSleep = 5 * time.Second

// setAside has a lane wait that can't go now: for its method alone, for a
// change of either budget, or with all others of its line.
func (q *line) setAside(now limit.Instant, l *lane, s slot) {
	until := func(at limit.Instant) limit.Instant {
		if at == limit.Never {
			return now.Add(longestSleep)
		}
		return at
	}
	switch {
	case s.app > now:
		q.blocked = until(s.app)
	case s.method > now:
		q.drop(l)
		l.scarce = true
		q.put(l, &q.parked, int64(until(s.method)), 0)
	default:
		q.drop(l)
		q.put(l, &q.split, int64(until(s.at)), 0)
	}
}

func (q *line) unpark(l *lane) {
	q.drop(l)
	q.add(l)
}

// wakeUp readies the lanes whose time has come.
func (q *line) wakeUp(now limit.Instant) {
	for _, h := range [...]*heap{&q.parked, &q.split} {
		for h.top() <= now {
			q.unpark((*h)[0].lane)
		}
	}
}

// changed has everything looked at again that hung on the application.
func (q *line) changed() {
	q.blocked = 0
	for len(q.split) > 0 {
		q.unpark(q.split[0].lane)
	}
}
