package admit

import "riftrelay/limit"

// Waiter is one call in a queue. The zero value may be given to Enqueue, and
// again once it has left the queue.
type Waiter struct {
	// Data is the shell's own, untouched here.
	Data any

	lane       *lane
	prev, next *Waiter
	since      limit.Instant
	deadline   limit.Instant
}

// lane is the line of calls of one method, priority and pin.
type lane struct {
	node
	bucket     *bucket
	line       *line
	head, tail *Waiter
	n          int
	served     int64 // Machine.turn when it was last served
	parked     bool  // in line.parked, else in line.ready; only while n > 0
}

func (l *lane) pushBack(w *Waiter) {
	w.lane, w.prev, w.next = l, l.tail, nil
	if l.tail != nil {
		l.tail.next = w
	} else {
		l.head = w
	}
	l.tail = w
	l.n++
}

func (l *lane) pushFront(w *Waiter) {
	w.lane, w.prev, w.next = l, nil, l.head
	if l.head != nil {
		l.head.prev = w
	} else {
		l.tail = w
	}
	l.head = w
	l.n++
}

func (l *lane) remove(w *Waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.head = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.tail = w.prev
	}
	w.lane, w.prev, w.next = nil, nil, nil
	l.n--
}

// class tells lanes apart that wait for different budgets.
type class struct {
	high    bool
	keyless bool
	pin     int32 // key, or -1
}

// bucket is one method on one host: what Riot counts together, and the calls
// that wait for it.
type bucket struct {
	host    *host
	method  string
	keyless bool
	service limit.Gate     // stops all keys
	scopes  []*limit.Scope // by key, made when first used; one for keyless calls
	lanes   []*lane
	queued  int
	credit  int // as host.credit, for the method's own budget
}

func (b *bucket) lane(c class) *lane {
	for _, l := range b.lanes {
		if l.line.class == c {
			return l
		}
	}
	l := &lane{bucket: b, line: b.host.line(c)}
	l.pos, l.node.lane = -1, l
	b.lanes = append(b.lanes, l)
	return l
}

// waiting finds a lane of the given priority in which calls wait that could go
// on the key; nil if there is none.
func (b *bucket) waiting(high bool, key int) *lane {
	for _, l := range b.lanes {
		if c := l.line.class; l.n > 0 && c.high == high && (c.pin < 0 || int(c.pin) == key) {
			return l
		}
	}
	return nil
}
