package conns

import (
	"container/list"
	"net"
	"net/http"
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
	Closed     uint64    // connections without a request, closed for others
	Refused    uint64    // connections of an address that had its share of calls
	Full       time.Time // when a connection last found no room; zero = never
}

// Listener accepts connections up to its limits. When another client comes, it
// closes the connection that has been without a request for the longest. While
// all of them have one, new clients wait.
//
// A connection of the last moment stays: its request may be on its way. So does
// one of which the server has something left to read or to work on, however long
// that takes.
//
// A connection is quiet when it has no request: it sends its first head or is
// in its handshake, is kept for the next request, or has been answered and its
// request's body is still to come.
type Listener struct {
	net.Listener
	limits Limits
	onFull func(Stats)

	mu        sync.Mutex
	changed   sync.Cond // a connection has gone or become quiet, or the Listener is closed
	quiet     list.List // of *Conn, the longest quiet one first
	addresses map[netip.Addr]*address
	stats     Stats
	churn     churn
	waiting   bool // for a connection to end
	closed    bool
}

// address is one client address.
type address struct {
	open  int
	quiet list.List // of *Conn, the longest quiet one first
}

// Limit puts limits on l. onFull, if not nil, is called each time that a
// connection finds no room.
func Limit(l net.Listener, limits Limits, onFull func(Stats)) *Listener {
	limited := &Listener{Listener: l, limits: limits, onFull: onFull, addresses: make(map[netip.Addr]*address)}
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

// A connection must have been quiet for settled to be closed for another. Under
// a flood, when a quarter of the room is closed for others within a second,
// hurried is enough: otherwise those that come would wait for those that only
// stay.
const (
	settled = 400 * time.Millisecond
	hurried = 50 * time.Millisecond
)

// churn counts the connections closed for others, by seconds.
type churn struct {
	began        time.Time
	before, here int // in the second before began, and since
}

func (c *churn) turn(now time.Time) {
	switch since := now.Sub(c.began); {
	case since >= 2*time.Second:
		c.began, c.before, c.here = now, 0, 0
	case since >= time.Second:
		c.began, c.before, c.here = now, c.here, 0
	}
}

// quietFor returns how long a connection must have been quiet to be closed.
func (l *Listener) quietFor() time.Duration {
	l.churn.turn(time.Now())
	if 4*max(l.churn.before, l.churn.here) > l.limits.Total {
		return hurried
	}
	return settled
}

// admit makes room for c. It returns nil if c's address has its share, or the
// Listener is closed. It reports whether there was no room at first.
func (l *Listener) admit(c net.Conn) (admitted *Conn, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		if full {
			l.stats.Full = time.Now()
		}
	}()
	from := addressOf(c)
	for !l.closed {
		a := l.addresses[from]
		if a == nil {
			a = &address{}
			l.addresses[from] = a
		}
		var victim *list.Element
		switch {
		case a.open >= l.most(from):
			full = true
			if victim = a.quiet.Front(); victim == nil {
				l.stats.Refused++
				l.forget(from)
				return nil, full
			}
		case l.stats.Open >= l.limits.Total:
			full = true
			if victim = l.victim(a); victim == nil {
				l.wait(time.Minute)
				continue
			}
		default:
			admitted = &Conn{Conn: c, listener: l, from: from, open: true}
			a.open++
			l.stats.Open++
			l.setQuiet(admitted)
			return admitted, full
		}
		closing := victim.Value.(*Conn)
		patience := l.quietFor()
		if closing.ended {
			patience = hurried // its client has its answer
		}
		if left := patience - time.Since(closing.since); left > 0 {
			l.wait(left)
			continue
		}
		if !closing.starved() { // it's this process that is slow
			l.setActive(closing)
			l.setQuiet(closing)
			continue
		}
		l.stats.Closed++
		if !closing.ended {
			l.churn.here++
		}
		l.remove(closing)
		closing.Conn.Close()
	}
	return nil, false
}

// wait waits for a change, and no longer than d.
func (l *Listener) wait(d time.Duration) {
	timer := time.AfterFunc(d, func() {
		l.mu.Lock() // which Wait gives up once it listens
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})
	defer timer.Stop()
	l.waiting = true
	l.changed.Wait()
	l.waiting = false
}

// victim returns the connection to close for one of a: the longest quiet one of
// an address that has more than an equal part of all connections, of a itself if
// it is such. So an address that opens many of them takes its own room only.
func (l *Listener) victim(a *address) *list.Element {
	many := func(a *address) bool { return a.open*len(l.addresses) > l.stats.Open }
	if own := a.quiet.Front(); own != nil && many(a) {
		return own
	}
	for e := l.quiet.Front(); e != nil; e = e.Next() {
		if many(l.addresses[e.Value.(*Conn).from]) {
			return e
		}
	}
	return l.quiet.Front()
}

// most is how many connections an address may have.
func (l *Listener) most(from netip.Addr) int {
	if l.limits.PerAddress == 0 || l.limits.Loopback && from.IsLoopback() {
		return l.limits.Total
	}
	return l.limits.PerAddress
}

func (l *Listener) setQuiet(c *Conn) {
	if c.inAll == nil && c.open {
		c.since = time.Now()
		c.inAll, c.inAddress = l.quiet.PushBack(c), l.addresses[c.from].quiet.PushBack(c)
		l.changed.Broadcast()
	}
}

func (l *Listener) setActive(c *Conn) {
	if c.inAll != nil {
		l.quiet.Remove(c.inAll)
		l.addresses[c.from].quiet.Remove(c.inAddress)
		c.inAll, c.inAddress = nil, nil
	}
}

// remove gives c's room back.
func (l *Listener) remove(c *Conn) {
	if !c.open {
		return
	}
	l.setActive(c)
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
	return l.stats
}

// Close ends Accept and closes all quiet connections; others are closed as soon
// as they are quiet. So a server that shuts down waits for calls only.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
	for e := l.quiet.Front(); e != nil; e = l.quiet.Front() {
		c := e.Value.(*Conn)
		l.remove(c)
		c.Conn.Close()
	}
	return err
}

// State follows a connection of an http.Server: it is the server's ConnState.
func State(nc net.Conn, state http.ConnState) {
	c := of(nc)
	if c == nil {
		return
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.becomeQuiet()
	case http.StateActive, http.StateHijacked:
		c.becomeActive()
	case http.StateClosed:
	}
}

func addressOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return group(tcp.AddrPort().Addr())
	}
	return netip.Addr{}
}

// group is what counts as one address: of IPv6, a network of 64 bits, all of
// which one client may have.
func group(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is6() && !a.IsLoopback() {
		if p, err := a.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}
