package riftrelay

import (
	"net"
	"net/http"
	"time"

	"riftrelay/limit"
)

// tcpOf gives the way to ask for what the system knows of a connection of t's;
// nil where that is no use. Behind a proxy the connection is that to the proxy.
func (t *Transport) tcpOf() func(net.Conn) limit.TCP {
	if t.TCPInfo != nil {
		return t.TCPInfo
	}
	if base, ok := t.base.(*http.Transport); ok && base.Proxy == nil {
		return tcpInfo
	}
	return nil
}

// lookAfter is how long after the sending of a call without an answer its
// connection is looked at. No window is shorter than 1 s (R1): what the look
// shows comes before the call's charges can expire.
const lookAfter = 900 * time.Millisecond

// connection is what an attempt knows of the connection that it goes on.
type connection struct {
	ask    func(net.Conn) limit.TCP
	conn   net.Conn
	resent int  // segments of the connection when the call got it
	tells  bool // anything at all
	final  bool // said is: what comes later concerns other calls
	said   limit.TCP
	sent   time.Time
	look   *look // nil unless the call is out and unanswered
}

// look is a timer for calls that are out. Each call needs one, and few ever see
// it fire: they are used again.
type look struct {
	timer *time.Timer
	at    *attempt // changes only while the timer stands still
}

func (l *look) fire() { l.at.pending() }

// lookAt has an attempt's connection looked at after a while.
func (t *Transport) lookAt(a *attempt) *look {
	l, used := t.looks.Get().(*look)
	if !used {
		l = &look{at: a}
		l.timer = time.AfterFunc(lookAfter, l.fire)
		return l
	}
	l.at = a
	l.timer.Reset(lookAfter)
	return l
}

// got notes on which connection the call will go.
func (c *connection) got(conn net.Conn) {
	if c.ask == nil {
		return
	}
	tcp := c.ask(conn)
	c.conn, c.resent, c.tells = conn, tcp.Resent, tcp.Tells()
}

// now gives what is known of the connection, as far as it concerns this call.
func (c *connection) now() limit.TCP {
	switch {
	case !c.tells:
		return limit.TCP{}
	case c.final:
		return c.said
	}
	tcp := c.ask(c.conn)
	tcp.Resent = max(0, tcp.Resent-c.resent)
	return tcp
}

// wrote has the connection looked at later, if there is anything to see.
func (c *connection) wrote(a *attempt) {
	if c.tells && c.look == nil {
		c.sent = time.Now()
		c.look = a.t.lookAt(a)
	}
}

// looked is now for a call without an answer. It is looked at again, unless the
// call is known to have arrived.
func (c *connection) looked() limit.TCP {
	tcp := c.now()
	if c.final = tcp.Arrived(time.Since(c.sent)); c.final {
		c.said = tcp
		c.said.Resent = 0 // that has been told
	} else {
		c.look.timer.Reset(lookAfter)
	}
	return tcp
}

// stopLooking is for a call that is over.
func (c *connection) stopLooking(t *Transport) {
	l := c.look
	if l == nil {
		return
	}
	if c.look = nil; l.timer.Stop() { // else it is firing, for this call still
		l.at = nil
		t.looks.Put(l)
	}
}
