package conns

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// headTime is how long a head may take once it has begun. net/http sees to that
// for a connection's first head only.
const headTime = 10 * time.Second

// Check returns l with the heads of HTTP/1 checked, see checked. A connection of
// l that speaks TLS must have ended its handshake. One that has agreed on HTTP/2
// is returned as it is.
func Check(l net.Listener) net.Listener { return &checking{l} }

type checking struct{ net.Listener }

func (l *checking) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	t, ok := c.(*tls.Conn)
	switch {
	case !ok:
		return newChecked(c), nil
	case t.ConnectionState().NegotiatedProtocol == "h2":
		return c, nil
	}
	return &checkedTLS{newChecked(c), t}, nil
}

// checked is a connection on which HTTP/1 is spoken, without TLS. It holds each
// head back until the head is complete, so net/http sees no part of one and none
// that is malformed. Instead of a malformed head net/http reads probe, which it
// refuses. So the refusal comes after the answers to earlier requests.
//
// One goroutine reads at a time, and net/http synchronises them.
type checked struct {
	net.Conn
	conn *Conn // below; nil = none

	head  head
	held  []byte // read and not returned yet
	ready int    // how many bytes of held belong to a complete head, or to its body
	body  int64  // how many bytes of the body have yet to be read
	plain bool   // no other head comes: these are chunks, or CONNECT's bytes

	serving bool // a head was returned whose request hasn't been answered
	timed   bool // the next head has its deadline
	refused atomic.Pointer[refused]
}

// checkedTLS is a checked connection within TLS.
type checkedTLS struct {
	*checked
	tls *tls.Conn
}

// ConnectionState is for net/http, which puts it into requests.
func (c *checkedTLS) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

func newChecked(c net.Conn) *checked { return &checked{Conn: c, conn: of(c), timed: true} }

// NetConn returns the connection below.
func (c *checked) NetConn() net.Conn { return c.Conn }

const probe = "?\r\n\r\n"

// Read returns bytes of complete heads and of bodies.
func (c *checked) Read(p []byte) (int, error) {
	for {
		switch {
		case c.ready > 0:
			c.serving = true
			n := copy(p, c.held[:c.ready])
			c.ready -= n
			if c.held = c.held[n:]; len(c.held) == 0 {
				c.held = nil
			}
			return n, nil
		case c.refused.Load() != nil:
			return 0, io.EOF
		case c.plain:
			return c.Conn.Read(p)
		case c.body > 0:
			n, err := c.Conn.Read(p[:min(int64(len(p)), c.body)])
			c.body -= int64(n)
			return n, err
		case len(c.held) > c.head.at && c.advance(c.held):
			continue
		}
		if n, err := c.more(p); n > 0 || err != nil {
			return n, err
		}
	}
}

// advance reads on in the head that b begins with. It reports whether something
// is ready: bytes of b, or the probe.
func (c *checked) advance(b []byte) bool {
	end, bad := c.head.read(b)
	switch {
	case bad != nil:
		c.refused.Store(bad)
		c.held, c.ready = []byte(probe), len(probe)
		return true
	case end == 0:
		return false
	}
	if c.plain = c.head.chunked || c.head.connect; c.plain {
		c.ready = len(b)
	} else {
		here := min(int64(len(b)-end), c.head.length) // of the body
		c.ready, c.body = end+int(here), c.head.length-here
	}
	c.head = head{}
	return true
}

// more reads from the connection once, while a head is wanted. A head mostly
// comes as a whole, and then isn't copied.
func (c *checked) more(p []byte) (int, error) {
	if len(c.held) == 0 {
		n, err := c.Conn.Read(p)
		if n == 0 {
			return 0, err
		}
		if c.advance(p[:n]) && c.ready == n && c.refused.Load() == nil {
			c.serving, c.ready = true, 0
			return n, nil
		}
		if c.refused.Load() == nil {
			c.held = bytes.Clone(p[:n])
		}
		return 0, nil // an error comes again
	}
	if !c.timed && !c.serving {
		c.timed = true
		if err := c.SetReadDeadline(time.Now().Add(headTime)); err != nil {
			return 0, err
		}
		c.conn.set(Begun)
	}
	if len(c.held) == cap(c.held) {
		c.held = append(make([]byte, 0, max(1<<10, 2*cap(c.held))), c.held...)
	}
	n, err := c.Conn.Read(c.held[len(c.held):cap(c.held)])
	c.held = c.held[:len(c.held)+n]
	if n > 0 {
		err = nil // it comes again
	}
	return 0, err
}

// answered is called when the request's answer has been written, and the next
// head is wanted.
func (c *checked) answered() { c.serving, c.timed = false, false }

// Write puts net/http's own errors into the form of Riot's. After one, it ends
// the connection such that the client can read it.
func (c *checked) Write(p []byte) (int, error) {
	r := refusal(p)
	if r == nil {
		return c.Conn.Write(p)
	}
	if bad := c.refused.Load(); bad != nil {
		r = bad
	}
	if _, err := c.Conn.Write(r.answer()); err != nil {
		return 0, err
	}
	if c.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(linger)) == nil {
		_, _ = io.CopyN(io.Discard, c.Conn, lingerMost)
	}
	return len(p), nil
}

// CloseWrite ends one direction: the answer was the last. net/http then leaves
// the client half a second to read it, and meanwhile the room may be needed.
func (c *checked) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return c.Close()
	}
	err := half.CloseWrite()
	c.conn.set(Ending)
	return err
}
