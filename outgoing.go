package riftrelay

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"

	"riftrelay/route"
)

// outgoing makes the request that goes to Riot.
func (a *attempt) outgoing() error {
	c := a.call
	req, out, u, to := c.req, &a.out, &a.url, &c.to
	*out, *u = *req, *req.URL
	u.Scheme, u.Host, u.User, u.Path, u.RawPath = to.scheme, to.dial, nil, "", ""
	u.Opaque = to.prefix + c.path // R23: the escaped path, byte for byte
	u.Fragment, u.RawFragment = "", ""
	out.URL, out.Host = u, to.host
	out.RequestURI = ""
	out.Header = make(http.Header, len(req.Header)+1)
	for name, values := range req.Header {
		// R5: a player's token goes with RSO calls only, and never with a key.
		if name == "X-Riot-Token" || name == "Authorization" && c.route.Method.Auth != route.AuthRSO {
			continue
		}
		out.Header[name] = values
	}
	if a.framed = c.http2 && c.barewrite(); a.framed {
		out.Body = noContent{}
	}
	if c.body != nil {
		var err error
		if out.Body, err = c.body.reader(); err != nil {
			return err
		}
	}
	out.GetBody = nil // nothing is sent a second time below admission
	if key := a.permit.key; key != nil {
		a.token[0] = key.Value
		out.Header["X-Riot-Token"] = a.token[:]
	}
	return nil
}

// barewrite reports whether the call is a POST or the like without a body.
//
// Over HTTP/2, net/http sends such a request again by itself, after failures that
// Riot has not processed and after others that it may have, and doesn't tell which.
// With a body, though it is empty, net/http returns the failure instead: see
// takenBack. Over HTTP/1 an empty body would be chunks, so there it is none.
func (c *call) barewrite() bool { return c.body == nil && !repeatable(c.req) }

// noContent is a body of no bytes.
type noContent struct{}

func (noContent) Read([]byte) (int, error) { return 0, io.EOF }
func (noContent) Close() error             { return nil }

// wire is a connection to Riot that tells when a request has really left. Over
// HTTP/1, net/http calls WroteRequest when the request is in its buffer, and
// writes that out only then: on a busy machine many milliseconds may lie
// between, in which a charge would begin to expire too early.
type wire struct {
	net.Conn
	leaving atomic.Pointer[attempt] // its last bytes go with the next Write
	raw     syscall.RawConn         // nil where there is none
}

// dialer returns connections that are wires.
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

// wireOf returns the wire that a connection of net/http's goes over, if it carries
// one call at a time; otherwise nil.
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

// replay is the body of a request, as far as it can be sent again. Nil is no
// body.
type replay struct {
	stream io.ReadCloser
	fresh  func() (io.ReadCloser, error) // the request's GetBody; may be nil
	lent   *lent                         // the stream, while the base has it
}

func newReplay(req *http.Request) *replay {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	return &replay{stream: req.Body, fresh: req.GetBody}
}

// again reports whether the body can be sent once more.
func (b *replay) again() bool { return b == nil || b.fresh != nil || b.lent.back() }

// reader returns the body, from its beginning.
func (b *replay) reader() (io.ReadCloser, error) {
	if b.lent == nil || b.lent.back() {
		b.lent = &lent{body: b.stream}
		return b.lent, nil
	}
	return b.fresh()
}

// spare takes the body back from a base that is not to send it.
func (b *replay) spare() {
	if b != nil && b.lent != nil {
		b.lent.take()
	}
}

// lent is a stream in the hands of a base. Once taken back, the base can neither
// read nor close it.
type lent struct {
	body io.ReadCloser

	mu            sync.Mutex
	touched, gone bool // read or closed by the base; taken back before that
}

func (l *lent) take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = !l.touched
}

// back reports whether the stream is as it was.
func (l *lent) back() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

func (l *lent) touch() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touched = !l.gone
	return l.touched
}

func (l *lent) Read(p []byte) (int, error) {
	if !l.touch() {
		return 0, errStopped
	}
	return l.body.Read(p)
}

func (l *lent) Close() error {
	if !l.touch() {
		return nil
	}
	return l.body.Close()
}
