package conns

import (
	"container/list"
	"context"
	"net"
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
	reads    atomic.Int32 // Reads that have begun and not returned

	// Of the Listener, under its lock.
	open             bool
	ended            bool          // its last answer has been written
	since            time.Time     // when it became quiet
	inAll, inAddress *list.Element // nil = has a request
}

// Read notes that whatever came before has been taken in, and more is wanted.
func (c *Conn) Read(p []byte) (int, error) {
	c.reads.Add(1)
	defer c.reads.Add(-1)
	return c.Conn.Read(p)
}

// starved reports whether c's client has nothing to wait for: the server waits
// for more bytes, and none have come. A head that was read but hasn't reached
// its handler is not starved, because nobody reads meanwhile. The Listener's lock
// is held.
func (c *Conn) starved() bool { return c.ended || c.reads.Load() > 0 && !pending(c.Conn) }

// Write bounds each piece by itself: an answer as a whole may take as long as it
// keeps moving.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	if out := refusal(p); len(out) != len(p) {
		if _, err := c.Conn.Write(out); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// CloseWrite ends one direction: the answer was the last. net/http then leaves
// the client half a second to read it, and meanwhile the room may be needed.
func (c *Conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return c.Close()
	}
	err := half.CloseWrite()
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed { // otherwise there is no hurry
		c.ended = true
		l.setQuiet(c)
	}
	return err
}

// Close gives the connection's room back.
func (c *Conn) Close() error {
	l := c.listener
	l.mu.Lock()
	l.remove(c)
	l.mu.Unlock()
	return c.Conn.Close()
}

// becomeQuiet is called when c has no request.
func (c *Conn) becomeQuiet() {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.remove(c)
		c.Conn.Close()
		return
	}
	l.setQuiet(c)
}

func (c *Conn) becomeActive() {
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setActive(c)
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

type contextKey struct{}

// Context lets a server's handler find a request's connection: it is the
// server's ConnContext.
func Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}
