package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"riftrelay/internal/config"
	"riftrelay/internal/metrics"
	"riftrelay/internal/proxy"
	"riftrelay/internal/trust"
)

// door tells connections that speak TLS from those that don't, by their first
// byte, and takes those back that CONNECT has made. All of them are served by
// one server, under the same bounds.
type door struct {
	tls    *tls.Config
	riots  *tls.Config             // for Riot's names; nil without an authority
	serves func(name string) error // reports whether it is a name of the API's
	in     chan arrival
	closed chan struct{}
	once   sync.Once

	failed func(from net.Addr, err error) // hears of handshakes that fail; nil = nobody does

	mu   sync.Mutex
	open map[net.Conn]struct{} // those that have yet to send a byte, or are in their handshake
}

// arrival is a connection, or what keeps others from coming.
type arrival struct {
	net.Conn
	err error
}

// hesitation is how long a connection may take for its first byte; that is as
// long as it may take for the head of its first request.
const hesitation = readHeaderTimeout

// newDoor makes the door of a relay that has an authority, or a certificate, or
// both: then Riot's names are the authority's, and all others the certificate's.
func newDoor(a *trust.Authority, own *certificate) *door {
	d := &door{in: make(chan arrival), closed: make(chan struct{}), open: make(map[net.Conn]struct{})}
	if a != nil {
		d.riots = a.Config(d.admit)
	}
	if d.tls = d.riots; own != nil {
		d.tls = own.config()
		d.tls.GetConfigForClient = d.choose
	}
	return d
}

// choose finds who speaks for a name. Nil: the relay's own certificate.
func (d *door) choose(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	_, connected := hello.Conn.(*promised)
	if d.riots == nil || !connected && !strings.HasSuffix(strings.ToLower(hello.ServerName), ".api.riotgames.com") {
		return nil, nil
	}
	return d.riots, d.admit(hello)
}

// admit looks at who wants to speak TLS with whom.
func (d *door) admit(hello *tls.ClientHelloInfo) error {
	if c, ok := hello.Conn.(*promised); ok && c.name != hello.ServerName {
		return fmt.Errorf("CONNECT was to %s, and TLS is for %.100q", c.name, hello.ServerName)
	}
	return d.serves(hello.ServerName)
}

// guard puts the door in front of l.
func (d *door) guard(l net.Listener) net.Listener {
	go func() {
		for {
			c, err := l.Accept()
			if err == nil {
				go d.listen(c)
				continue
			}
			if !d.bring(arrival{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
		}
	}()
	return &doorway{l, d}
}

// listen waits for the first byte of c, and for the end of its handshake if that
// byte begins one.
func (d *door) listen(c net.Conn) {
	first := make([]byte, 1)
	if !d.within(c, hesitation, func() error { _, err := c.Read(first); return err }) {
		return
	}
	const handshake = 0x16 // the type of TLS's first record
	c = &opened{Conn: c, first: first}
	if first[0] == handshake {
		d.shake(tls.Server(c, d.tls))
		return
	}
	d.bring(arrival{Conn: c})
}

// shake brings c once its handshake has ended, and so its protocol is known.
func (d *door) shake(c *tls.Conn) {
	if d.within(c.NetConn(), readHeaderTimeout, func() error {
		err := c.Handshake()
		if err != nil && d.failed != nil {
			d.failed(c.RemoteAddr(), err)
		}
		return err
	}) {
		d.bring(arrival{Conn: c})
	}
}

// within does a step of c's beginning. It closes c and returns false if the step
// fails, takes too long, or the door is closed.
func (d *door) within(c net.Conn, most time.Duration, step func() error) bool {
	d.mu.Lock()
	d.open[c] = struct{}{}
	d.mu.Unlock()
	select {
	case <-d.closed: // which may have missed this one
		c.Close()
	default:
	}
	_ = c.SetDeadline(time.Now().Add(most)) // of one that is closed: the step says so
	err := step()
	d.mu.Lock()
	delete(d.open, c)
	d.mu.Unlock()
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		c.Close()
	}
	return err == nil
}

// terminate takes a connection whose client was told to speak TLS with name.
func (d *door) terminate(c net.Conn, name string) {
	go d.shake(tls.Server(&promised{c, name}, d.riots))
}

// bring hands over to the server, unless that has ended.
func (d *door) bring(a arrival) bool {
	select {
	case d.in <- a:
		return true
	case <-d.closed:
		if a.Conn != nil {
			// Below TLS, which would say goodbye to who hasn't said hello.
			if t, ok := a.Conn.(*tls.Conn); ok {
				a.Conn = t.NetConn()
			}
			a.Conn.Close()
		}
		return false
	}
}

// doorway is the door as a listener.
type doorway struct {
	net.Listener
	*door
}

// Accept returns the next connection.
func (d *doorway) Accept() (net.Conn, error) {
	select {
	case a := <-d.in:
		return a.Conn, a.err
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close also ends those that aren't served yet.
func (d *doorway) Close() error {
	d.once.Do(func() { close(d.closed) })
	d.mu.Lock()
	for c := range d.open {
		c.Close()
	}
	d.mu.Unlock()
	return d.Listener.Close()
}

// opened is a connection of which the first byte was read.
type opened struct {
	net.Conn
	first []byte
}

func (o *opened) Read(p []byte) (int, error) {
	if len(o.first) > 0 && len(p) > 0 {
		n := copy(p, o.first)
		o.first = nil
		return n, nil
	}
	return o.Conn.Read(p)
}

// CloseWrite ends one direction, for tunnels.
func (o *opened) CloseWrite() error { return closeWrite(o.Conn) }

// NetConn returns the connection below.
func (o *opened) NetConn() net.Conn { return o.Conn }

// promised is a connection that CONNECT has promised to a name.
type promised struct {
	net.Conn
	name string
}

// NetConn returns the connection below.
func (p *promised) NetConn() net.Conn { return p.Conn }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// connecting is what CONNECT leads to, nil without TRUST_DIR, and the door for
// it and for the relay's own certificate, nil without either.
func connecting(s *config.Settings, own *certificate) (*proxy.Connect, *door, error) {
	if s.TrustDir == "" {
		if own == nil {
			return nil, nil, nil
		}
		return nil, newDoor(nil, own), nil
	}
	authority, err := trust.Open(s.TrustDir, nil)
	if err != nil {
		return nil, nil, err
	}
	d := newDoor(authority, own)
	return &proxy.Connect{
		Terminate: d.terminate,
		// A tunnel's two descriptors are those of a client and its call. Most
		// of them stay for calls.
		Tunnels: proxy.NewTunnels(s.TunnelHosts, max(2, places(openFiles())/4)),
	}, d, nil
}

// tunnelTraffic is for the metrics.
func (r *relay) tunnelTraffic() []metrics.Tunnel {
	var list []metrics.Tunnel
	for _, t := range r.tunnels.Traffic() {
		list = append(list, metrics.Tunnel(t))
	}
	return list
}
