package sched

// client is one caller of those that are kept apart, while calls of it wait.
type client struct {
	node    // in Machine.crowd, the client with most calls first
	name    string
	parties []*party
	n       int // calls that wait, on all hosts
}

// party is one client's calls of one priority on one host: turns rotate between
// parties. A host's parties exist only while they have calls.
type party struct {
	client *client
	host   *host
	high   bool
	pos    int // in host.parties
	queues []*queue
	served int64 // the turn of its latest grant
	// key is served, as the heaps of its queues and lanes know it. While a party
	// is alone its rank doesn't matter, and key stays as it was.
	key int64
}

// queue is the calls of one party in one lane, first in, first out.
type queue struct {
	node       // in lane.queues
	lane       *lane
	party      *party
	place      int // in party.queues
	head, tail *Waiter
	n          int
	served     int64  // the turn of its latest grant
	prev, next *queue // in lane.head to lane.tail
	promised   promises
}

func (q *queue) pushBack(w *Waiter) {
	w.queue, w.prev, w.next = q, q.tail, nil
	if q.tail != nil {
		q.tail.next = w
	} else {
		q.head = w
	}
	q.tail = w
}

func (q *queue) pushFront(w *Waiter) {
	w.queue, w.prev, w.next = q, nil, q.head
	if q.head != nil {
		q.head.prev = w
	} else {
		q.tail = w
	}
	q.head = w
}

func (q *queue) remove(w *Waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		q.head = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		q.tail = w.prev
	}
	w.queue, w.prev, w.next = nil, nil, nil
}

// queue returns the queue of a client in a lane, which it makes if need be.
func (m *Machine) queue(l *lane, name string) *queue {
	if q := l.find(name); q != nil {
		return q
	}
	p := m.party(l.bucket.host, name, l.line.class.high)
	// In its lane it counts as served when the lane was.
	q := &queue{lane: l, party: p, place: len(p.queues), served: l.served}
	q.pos, q.node.queue = -1, q
	p.queues = append(p.queues, q)
	l.enter(q)
	return q
}

// party returns the party of a client, which it makes if need be. A new one has
// its turn before the party that was served last, and after all others.
func (m *Machine) party(h *host, name string, high bool) *party {
	c := m.clients[name]
	if c == nil {
		c = &client{name: name}
		c.pos, c.node.client = -1, c
		m.clients[name] = c
		m.crowd.push(&c.node, 0)
	}
	for _, p := range c.parties {
		if p.host == h && p.high == high {
			return p
		}
	}
	all := &h.parties[index(high)]
	p := &party{client: c, host: h, high: high, pos: len(*all), served: h.served[index(high)] - 1}
	p.key = p.served
	if p.pos == 1 {
		(*all)[0].ranked() // which was alone so far
	}
	*all = append(*all, p)
	c.parties = append(c.parties, p)
	return p
}

// drop forgets a queue without calls, and its party and client if they have no
// others.
func (m *Machine) drop(q *queue) {
	q.lane.exit(q)
	p := q.party
	last := p.queues[len(p.queues)-1]
	p.queues[q.place], last.place = last, q.place
	p.queues[len(p.queues)-1] = nil
	if p.queues = p.queues[:len(p.queues)-1]; len(p.queues) > 0 {
		return
	}
	all := &p.host.parties[index(p.high)]
	end := (*all)[len(*all)-1]
	(*all)[p.pos], end.pos = end, p.pos
	(*all)[len(*all)-1] = nil
	*all = (*all)[:len(*all)-1]
	c := p.client
	for i, x := range c.parties {
		if x == p {
			c.parties[i] = c.parties[len(c.parties)-1]
			c.parties[len(c.parties)-1] = nil
			c.parties = c.parties[:len(c.parties)-1]
			break
		}
	}
	if len(c.parties) == 0 {
		m.crowd.remove(&c.node)
		delete(m.clients, c.name)
	}
}

// granted notes that a call of the queue has been let go in this turn.
func (q *queue) granted(turn int64) {
	p := q.party
	q.lane.served, q.served, p.served = turn, turn, turn
	p.host.served[index(p.high)] = turn
	q.lane.rotate(q)
	if len(p.host.parties[index(p.high)]) > 1 {
		p.ranked()
		return
	}
	q.lane.queues.rank(&q.node, p.key, q.served)
	q.lane.ranked()
}

// ranked puts the party where its latest grant puts it, among all others.
func (p *party) ranked() {
	p.key = p.served
	for _, q := range p.queues {
		q.lane.queues.rank(&q.node, p.key, q.served)
		q.lane.ranked()
	}
}
