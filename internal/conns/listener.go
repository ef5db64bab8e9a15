package conns

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Limits say how many connections a Listener has at once.
type Limits struct {
	Total      int // at least 1
	PerAddress int // 0 = as many as Total

	// Loopback lets programs on this machine, such as a reverse proxy, have as
	// many as Total.
	Loopback bool
}

// Stats are a Listener's counts.
type Stats struct {
	Open, Most int
	In         [States]int // open ones, by state
	Closed     uint64      // connections without a request, closed for others
	Refused    uint64      // connections of an address that had its share of calls
	Full       time.Time   // when a connection last found no room; zero = never
}

// Listener accepts connections up to its limits. When another client comes, it
// closes one that has no request, see victim. While all of them have one, new
// clients wait.
//
// A connection is quiet when it has no request: it is silent, in its handshake or
// in its first head, is kept for the next request, or has been answered and its
// request's body is still to come.
type Listener struct {
	net.Listener
	limits Limits
	onFull func(Stats)

	mu        sync.Mutex
	changed   sync.Cond // a connection has gone or become quiet, or the Listener is closed
	quiet     queues
	addresses map[netip.Addr]*address
	stats     Stats
	tick      time.Duration // how long a wait of tick lasts at present
	peek      [4 << 10]byte
	waiting   bool          // for a connection to end
	waited    time.Duration // by the client that found no room last
	closed    bool
}

// queues are quiet connections, the longest quiet one of each queue first.
type queues struct{ answered, others list.List }

func (q *queues) of(s State) *list.List {
	if s.answered() {
		return &q.answered
	}
	return &q.others
}

func (q *queues) both() [2]*list.List { return [...]*list.List{&q.answered, &q.others} }

func (q *queues) empty() bool { return q.answered.Len()+q.others.Len() == 0 }

// address is one client address.
type address struct {
	open  int
	quiet queues
}

// Limit puts limits on l. onFull, if not nil, is called each time that a
// connection finds no room.
func Limit(l net.Listener, limits Limits, onFull func(Stats)) *Listener {
	limited := &Listener{Listener: l, limits: limits, onFull: onFull, addresses: make(map[netip.Addr]*address), tick: tick}
	limited.changed.L = &limited.mu
	limited.stats.Most = limits.Total
	return limited
}

// Accept returns the next connection that has room.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		admitted, full := l.admit(c)
		if full && l.onFull != nil {
			l.onFull(l.Stats())
		}
		if admitted != nil {
			return admitted, nil
		}
		c.Close()
	}
}

func (l *Listener) enqueue(c *Conn) {
	c.looked = time.Now()
	c.inAll = l.quiet.of(c.state).PushBack(c)
	c.inAddress = l.addresses[c.from].quiet.of(c.state).PushBack(c)
}

func (l *Listener) dequeue(c *Conn) {
	if c.inAll != nil {
		l.quiet.of(c.state).Remove(c.inAll)
		l.addresses[c.from].quiet.of(c.state).Remove(c.inAddress)
		c.inAll, c.inAddress = nil, nil
	}
}

// remove returns c's room back.
func (l *Listener) remove(c *Conn) {
	if !c.open {
		return
	}
	l.dequeue(c)
	c.open = false
	l.stats.Open--
	l.addresses[c.from].open--
	l.forget(c.from)
	l.changed.Broadcast()
}

// forget drops an address without connections.
func (l *Listener) forget(from netip.Addr) {
	if l.addresses[from].open == 0 {
		delete(l.addresses, from)
	}
}

// Waiting reports whether clients wait for a connection to end.
func (l *Listener) Waiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// Stats returns the counts.
func (l *Listener) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.In[Active] = s.Open
	for _, q := range l.quiet.both() {
		for e := q.Front(); e != nil; e = e.Next() {
			s.In[e.Value.(*Conn).state]++
			s.In[Active]--
		}
	}
	return s
}

// Close ends Accept and closes all quiet connections; others are closed as soon
// as they are quiet. So a server that shuts down waits for calls only.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
	for _, q := range l.quiet.both() {
		for e := q.Front(); e != nil; e = q.Front() {
			c := e.Value.(*Conn)
			l.remove(c)
			c.Conn.Close()
		}
	}
	return err
}
