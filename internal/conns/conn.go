package conns

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// patience is how long a client may take to read what is written to it at once.
// One that reads more slowly, or not at all, loses its connection. Otherwise it
// would keep that, one to Riot and the memory of both for as long as it likes.
const patience = time.Minute

// Conn is a client's connection.
type Conn struct {
	net.Conn
	listener *Listener
	from     netip.Addr
	socket   *socket
	reads    atomic.Int32 // Reads that have begun and not returned
	spoke    atomic.Bool  // a byte has come

	// Of the Listener, under its lock.
	open             bool
	state            State
	since            time.Time     // when the state began
	looked           time.Time     // when it had something to do last, from since on
	inAll, inAddress *list.Element // nil = it has a request
}

// State says what a connection has.
type State uint8

const (
	Silent State = iota // nothing has come yet
	Begun               // half a head has come, or half a handshake
	Active              // a request
	Idle                // an answer, and may send another request
	Ending              // an answer, which was the last
	States              // how many there are
)

// String is the state's name in metrics.
func (s State) String() string {
	return [...]string{"silent", "begun", "active", "idle", "ending"}[s]
}

// answered reports whether a connection in this state costs its client nothing
// when it is closed.
func (s State) answered() bool { return s == Idle || s == Ending }

// Read notes that whatever came before has been taken in, and more is wanted.
func (c *Conn) Read(p []byte) (int, error) {
	c.reads.Add(1)
	defer c.reads.Add(-1)
	n, err := c.socket.read(c.Conn, p)
	if n > 0 && !c.spoke.Load() {
		c.spoke.Store(true)
		c.set(Begun)
	}
	return n, err
}

// Write bounds each piece by itself: an answer as a whole may take as long as it
// keeps moving.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// CloseWrite ends one direction.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Close returns the connection's room back.
func (c *Conn) Close() error {
	l := c.listener
	l.mu.Lock()
	l.remove(c)
	l.mu.Unlock()
	return c.Conn.Close()
}

// set changes c's state. A nil c has none.
func (c *Conn) set(state State) {
	if c == nil {
		return
	}
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.open {
		return
	}
	l.dequeue(c)
	if c.state, c.since = state, time.Now(); state == Active {
		return
	}
	if l.closed && state != Ending { // an answer may still be on its way
		l.remove(c)
		c.Conn.Close()
		return
	}
	l.enqueue(c)
	l.changed.Broadcast()
}

// of finds the Conn beneath TLS and whatever else wraps it; nil if there is none.
func of(c net.Conn) *Conn {
	for {
		switch t := c.(type) {
		case *Conn:
			return t
		case interface{ NetConn() net.Conn }:
			c = t.NetConn()
		default:
			return nil
		}
	}
}

// Follow follows a connection of an http.Server: it is the server's ConnState.
func Follow(nc net.Conn, state http.ConnState) {
	c := of(nc)
	switch state {
	case http.StateNew: // which is after the handshake
		if c != nil && c.spoke.Load() {
			c.set(Begun)
		}
	case http.StateIdle:
		switch t := nc.(type) {
		case *checked:
			t.answered()
		case *checkedTLS:
			t.answered()
		}
		c.set(Idle)
	case http.StateActive, http.StateHijacked:
		c.set(Active)
	case http.StateClosed:
	}
}

type contextKey struct{}

// Context lets a server's handler find a request's connection: it is the
// server's ConnContext.
func Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}
