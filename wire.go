package riftrelay

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"syscall"
)

// wire is a connection to Riot that tells when a request has really left. Over
// HTTP/1, net/http calls WroteRequest when the request is in its buffer, and
// writes that out only then: on a busy machine many milliseconds may lie
// between, in which a charge would begin to expire too early.
type wire struct {
	net.Conn
	leaving atomic.Pointer[attempt] // its last bytes go with the next Write
	raw     syscall.RawConn         // nil where there is none
}

// dialer gives connections that are wires.
func dialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w := &wire{Conn: conn}
		if c, ok := conn.(syscall.Conn); ok {
			if raw, err := c.SyscallConn(); err == nil {
				w.raw = raw
			}
		}
		return w, nil
	}
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if w.leaving.Load() != nil {
		if a := w.leaving.Swap(nil); a != nil {
			a.left()
		}
	}
	return n, err
}

// SyscallConn is for those who ask the system of the connection.
func (w *wire) SyscallConn() (syscall.RawConn, error) {
	if w.raw == nil {
		return nil, syscall.EINVAL
	}
	return w.raw, nil
}

// wireOf gives the wire that a connection of net/http's goes over, if it carries
// one call at a time; else nil.
func wireOf(conn net.Conn) *wire {
	if c, ok := conn.(*tls.Conn); ok {
		if shared(c) {
			return nil // HTTP/2 writes first, and tells then
		}
		conn = c.NetConn()
	}
	w, _ := conn.(*wire)
	return w
}
