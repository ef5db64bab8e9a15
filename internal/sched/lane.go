package sched

import "riftrelay/internal/limit"

// Waiter is one call in a queue. The zero value may be given to Enqueue, and
// again once it has left the queue.
type Waiter struct {
	// Data is the shell's own, untouched here.
	Data any

	queue      *queue // nil outside
	prev, next *Waiter
	since      limit.Instant
	deadline   limit.Instant
}

// lane is the calls of one method, priority, pin and budget: a queue for
// each client.
type lane struct {
	node
	bucket *bucket
	line   *line
	queues heap // those of the clients served longest ago first
	// The same in the order of their turns in this lane.
	head, tail *queue
	recent     *queue            // tail, if it was served last
	byName     map[string]*queue // the same once they are many
	n          int
	levels     []int32 // how many queues have more calls than the index
	served     int64   // Machine.turn when it was last served
	scarce     bool    // its method had no room since then
	in         *heap   // of line; nil while n is 0
	refused    promises
}

const (
	fewQueues = 8       // of a lane, which are searched one by one
	maxLevels = 1 << 12 // beyond which calls of a queue aren't predicted exactly
)

// find returns the queue of a client, nil if there is none.
func (l *lane) find(name string) *queue {
	if l.byName != nil {
		return l.byName[name]
	}
	for q := l.head; q != nil; q = q.next {
		if q.party.client.name == name {
			return q
		}
	}
	return nil
}

// enter takes in a queue that is about to have calls. In this lane its turn is
// before the queue that was served last, and after all others.
func (l *lane) enter(q *queue) {
	l.link(q, l.recent)
	l.queues.rank(&q.node, q.party.key, q.served)
	if l.byName == nil && len(l.queues) > fewQueues {
		l.byName = map[string]*queue{}
		for x := l.head; x != nil; x = x.next {
			l.byName[x.party.client.name] = x
		}
	} else if l.byName != nil {
		l.byName[q.party.client.name] = q
	}
	l.ranked()
}

// exit removes a queue that has no calls.
func (l *lane) exit(q *queue) {
	l.unlink(q)
	if l.recent == q {
		l.recent = nil
	}
	l.queues.remove(&q.node)
	delete(l.byName, q.party.client.name)
	if len(l.queues) == 0 {
		l.byName = nil
		if len(l.levels) > fewQueues {
			l.levels = nil
		}
	}
	l.ranked()
}

// rotate puts a queue last in the order of turns.
func (l *lane) rotate(q *queue) {
	if l.recent = q; l.tail != q {
		l.unlink(q)
		l.link(q, nil)
	}
}

// link puts a queue before another one, or at the end.
func (l *lane) link(q, before *queue) {
	q.next, q.prev = before, l.tail
	if before != nil {
		q.prev, before.prev = before.prev, q
	} else {
		l.tail = q
	}
	if q.prev != nil {
		q.prev.next = q
	} else {
		l.head = q
	}
}

func (l *lane) unlink(q *queue) {
	if q.prev != nil {
		q.prev.next = q.next
	} else {
		l.head = q.next
	}
	if q.next != nil {
		q.next.prev = q.prev
	} else {
		l.tail = q.prev
	}
	q.prev, q.next = nil, nil
}

// turn returns the queue whose turn it is. Where the method is what is scarce,
// the clients that wait for it take turns, whatever else they call; otherwise the
// one goes that has been served least recently on the whole host.
func (l *lane) turn() *queue {
	if l.scarce {
		return l.head
	}
	return l.queues[0].queue
}

// ranked puts a lane that may be tried where its queues put it.
func (l *lane) ranked() {
	if l.in == &l.line.ready && len(l.queues) > 0 {
		l.in.rank(&l.node, l.queues[0].key, l.queues[0].last)
	}
}

// before reports whether it is the turn of l before that of o; both may be tried.
func (l *lane) before(o *lane) bool { return l.node.less(&o.node) }

// upTo counts the calls of a lane of which each client has k at most.
func (l *lane) upTo(k int) (n int) {
	if len(l.queues) <= 1 {
		return min(l.n, k)
	}
	for _, level := range l.levels[:min(k, len(l.levels))] {
		n += int(level)
	}
	return n
}

// oldest returns since when the call waits that has waited longest.
func (l *lane) oldest() limit.Instant {
	since := limit.Never
	for q := l.head; q != nil; q = q.next {
		since = min(since, q.head.since)
	}
	return since
}

// grow notes a call more, or less, in a queue.
func (l *lane) grow(q *queue, by int) {
	at := q.n
	if by < 0 {
		at--
	}
	q.n += by
	l.n += by
	switch {
	case at < len(l.levels):
		l.levels[at] += int32(by)
	case at < maxLevels:
		l.levels = append(l.levels, int32(by))
	}
}

// count adds n to what is known of the calls that wait.
func (l *lane) count(n int) {
	b, h, c := l.bucket, l.bucket.host, l.line.class
	b.queued += n
	h.waiting[index(c.high)] += n
	if c.high {
		return
	}
	// Nobody waits, nothing is owed.
	if b.normal += n; b.normal == 0 {
		b.credit = 0
	}
	if c.keyless {
		return
	}
	if h.keyed += n; h.keyed == 0 {
		h.credit = 0
	}
}
