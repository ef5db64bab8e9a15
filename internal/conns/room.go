package conns

import (
	"bytes"
	"container/list"
	"encoding/binary"
	"net"
	"net/netip"
	"time"
)

// A connection is closed for another one if nothing has come of its client for
// some ticks: one tick after an answer, and longer before the first request. A
// tick is 50 ms, and longer where this machine is busy, because its clients may
// be slow then, too.
const (
	tick       = 50 * time.Millisecond
	slowest    = 4 * tick // the longest tick
	ripeAfter  = 16       // ticks, of a connection that has had no answer
	ripeSooner = 6        // the same, where another client has waited for long
)

// patience is how long a connection of this state must have been quiet. Before the
// first request, it and the client that waits for its room share the time: the
// longer the other has waited, the less it has. So a crowd that only connects, or
// only begins handshakes, makes nobody wait for a multiple of that time.
func (l *Listener) patience(s State) time.Duration {
	if s.answered() {
		return l.tick
	}
	return max(ripeSooner*l.tick, ripeAfter*l.tick-l.waited)
}

// starved reports whether c's client has nothing to wait for: the server waits
// for more bytes, and none have come. A head that was read but hasn't reached
// its handler isn't starved, because nobody reads meanwhile.
func (l *Listener) starved(c *Conn) bool {
	if c.state == Ending && time.Since(c.since) >= ripeAfter*l.tick {
		return true // what still comes is the body of a request that was answered
	}
	if idle, known := c.socket.idle(); known {
		return idle
	}
	return c.reads.Load() > 0
}

// admit makes room for c. It returns nil if c's address has its share, if c has
// sent no request for as long as others may take, or if the Listener is closed.
// It reports whether there was no room at first.
func (l *Listener) admit(c net.Conn) (admitted *Conn, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := addressOf(c)
	began := time.Now().Add(-age(c))
	socket := newSocket(c)
	for !l.closed {
		a := l.addresses[from]
		if a == nil {
			a = &address{}
			l.addresses[from] = a
		}
		share := a.open >= l.most(from) && a.open < l.limits.Total // otherwise nobody has more room than this address
		if !share && l.stats.Open < l.limits.Total {
			a.open++
			l.stats.Open++
			admitted = &Conn{Conn: c, listener: l, socket: socket, from: from, open: true, since: began}
			l.enqueue(admitted)
			admitted.looked = began
			return admitted, full
		}
		full = true
		l.stats.Full = time.Now()
		l.waited = time.Since(began)
		closing, left := l.victim(a, share)
		switch {
		case share && a.quiet.empty():
			l.stats.Refused++
			l.forget(from)
			return nil, full
		case closing != nil:
			l.stats.Closed++
			l.remove(closing)
			closing.Conn.Close()
		case l.waited >= ripeAfter*l.tick && !l.speaks(socket):
			l.stats.Closed++
			l.forget(from)
			return nil, full
		default:
			l.wait(left)
		}
	}
	return nil, false
}

// victim returns the connection to close for one of a, the longest quiet one. If
// share, it is one of a; otherwise one of an address that has more than an equal
// part of all connections, of a itself if it is such. So an address that opens
// many of them takes its own room only. It returns nil if none may be closed yet,
// and how long to wait.
func (l *Listener) victim(a *address, share bool) (closing *Conn, left time.Duration) {
	every := func(*address) bool { return true }
	many := func(a *address) bool { return a.open*len(l.addresses) > l.stats.Open }
	if share {
		closing, left, _ = l.ripe(&a.quiet, every)
		return closing, left
	}
	if many(a) {
		if closing, left, found := l.ripe(&a.quiet, every); found {
			return closing, left
		}
	}
	if closing, left, found := l.ripe(&l.quiet, many); found {
		return closing, left
	}
	closing, left, _ = l.ripe(&l.quiet, every)
	return closing, left
}

// ripe returns the longest quiet one of q that may be closed, or nil and how long
// to wait for one. It looks at addresses that are ok only, and reports whether
// there was one.
func (l *Listener) ripe(q *queues, ok func(*address) bool) (closing *Conn, left time.Duration, found bool) {
	left = time.Minute
	for _, queue := range q.both() {
		var next *list.Element
		for e := queue.Front(); e != nil; e = next {
			next = e.Next()
			c := e.Value.(*Conn)
			if !ok(l.addresses[c.from]) {
				continue
			}
			found = true
			if wait := l.patience(c.state) - time.Since(c.looked); wait > 0 {
				left = min(left, wait)
				break
			}
			if l.starved(c) {
				if closing == nil || c.looked.Before(closing.looked) {
					closing = c
				}
				break
			}
			l.dequeue(c) // it's this process that is slow
			l.enqueue(c)
			left = min(left, l.patience(c.state))
		}
	}
	return closing, left, found
}

// speaks reports whether a client may have sent a whole head, or the whole first
// record of TLS.
func (l *Listener) speaks(s *socket) bool {
	if s.raw == nil {
		return true
	}
	sent := l.peek[:s.unread(l.peek[:])]
	if len(sent) == len(l.peek) {
		return true
	}
	if len(sent) > 0 && sent[0] == handshake {
		return len(sent) >= recordHead && len(sent) >= recordHead+int(binary.BigEndian.Uint16(sent[3:]))
	}
	return bytes.Contains(sent, []byte("\r\n\r\n"))
}

const (
	handshake  = 0x16 // the type of TLS's first record
	recordHead = 5    // bytes of it, of which the last two are the length of the rest
)

// wait waits for a change, and no longer than d.
func (l *Listener) wait(d time.Duration) {
	began := time.Now()
	timer := time.AfterFunc(min(d, tick), func() {
		l.mu.Lock() // which Wait gives up once it listens
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})
	l.waiting = true
	l.changed.Wait()
	l.waiting = false
	if !timer.Stop() && d >= tick {
		l.tick = min(max(tick, time.Since(began)), slowest)
	}
}

// most is how many connections an address may have.
func (l *Listener) most(from netip.Addr) int {
	if l.limits.PerAddress == 0 || l.limits.Loopback && from.IsLoopback() {
		return l.limits.Total
	}
	return l.limits.PerAddress
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
