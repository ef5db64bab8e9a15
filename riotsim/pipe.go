package riotsim

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Listener is a net.Listener without sockets: both ends live in this process, and everything blocks
// on channels and condition variables only, so that time stands still in a testing/synctest bubble
// exactly when nobody has anything to do. Create it inside the bubble.
//
//	l := riotsim.Pipe()
//	go edge.Serve(l)
//	client := &http.Client{Transport: &http.Transport{DialContext: l.Dial}}
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// Pipe returns a listener that is open.
func Pipe() *Listener {
	return &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept waits for the next Dial. After Close it returns net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Dial connects to the listener, whatever network and address say; its shape is that of
// http.Transport.DialContext. After Close the error is a *net.OpError with ECONNREFUSED.
func (l *Listener) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	up, down := newHalf(), newHalf()
	client := &conn{in: down, out: up, local: "client", remote: addr}
	server := &conn{in: up, out: down, local: addr, remote: "client"}
	select {
	case <-l.done: // a closed listener must not win against one that is also ready
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	default:
	}
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, fmt.Errorf("dial %s: %w", addr, context.Cause(ctx))
	}
}

// Close stops accepting; open connections live on. It can be called again.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr returns an address that only names the listener.
func (l *Listener) Addr() net.Addr { return addr("listener") }

type addr string

func (addr) Network() string  { return "pipe" }
func (a addr) String() string { return string(a) }

// conn is one end of a connection.
type conn struct {
	in, out       *half
	local, remote string
}

func (c *conn) Read(p []byte) (int, error)         { return c.in.read(p) }
func (c *conn) Write(p []byte) (int, error)        { return c.out.write(p) }
func (c *conn) LocalAddr() net.Addr                { return addr(c.local) }
func (c *conn) RemoteAddr() net.Addr               { return addr(c.remote) }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.in.setDeadline(&c.in.reading, t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.out.setDeadline(&c.out.writing, t) }

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t) // neither can fail
	return c.SetWriteDeadline(t)
}

// SetLinger with 0 makes Close a reset, as on a net.TCPConn; other values change nothing.
func (c *conn) SetLinger(seconds int) error {
	if seconds == 0 {
		c.out.update(func(h *half) { h.abrupt = true })
	}
	return nil
}

func (c *conn) Close() error {
	c.in.update(func(h *half) { h.readerGone = true; h.reading.stop() })
	c.out.update(func(h *half) { h.writerGone = true; h.writing.stop() })
	return nil
}

// room is what one direction holds before its writer has to wait for its reader.
const room = 64 << 10

// half is one direction of a connection.
type half struct {
	mu         sync.Mutex
	changed    sync.Cond
	buf        []byte
	off        int // of buf that has been read
	readerGone bool
	writerGone bool
	abrupt     bool // the writer went by a reset
	reading    deadline
	writing    deadline
}

func newHalf() *half {
	h := &half{}
	h.changed.L = &h.mu
	return h
}

func (h *half) update(f func(*half)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h)
	h.changed.Broadcast()
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.readerGone:
			return 0, net.ErrClosed
		case h.reading.passed:
			return 0, os.ErrDeadlineExceeded
		case h.writerGone && h.abrupt:
			return 0, &net.OpError{Op: "read", Net: "pipe", Err: syscall.ECONNRESET}
		case len(p) == 0:
			return 0, nil
		case h.off < len(h.buf):
			n := copy(p, h.buf[h.off:])
			if h.off += n; h.off == len(h.buf) {
				h.buf, h.off = h.buf[:0], 0
			}
			h.changed.Broadcast()
			return n, nil
		case h.writerGone:
			return 0, io.EOF
		}
		h.changed.Wait()
	}
}

func (h *half) write(p []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.writerGone:
			return n, net.ErrClosed
		case h.writing.passed:
			return n, os.ErrDeadlineExceeded
		case h.readerGone:
			return n, &net.OpError{Op: "write", Net: "pipe", Err: syscall.EPIPE}
		case len(p) == 0:
			return n, nil
		}
		if free := room - (len(h.buf) - h.off); free > 0 {
			if h.off > 0 {
				h.buf, h.off = append(h.buf[:0], h.buf[h.off:]...), 0
			}
			k := min(free, len(p))
			h.buf = append(h.buf, p[:k]...)
			n, p = n+k, p[k:]
			h.changed.Broadcast()
			continue
		}
		h.changed.Wait()
	}
}

// deadline is owned by its half's lock.
type deadline struct {
	passed bool
	timer  *time.Timer
	set    int // generation: a timer that fires late must not end a newer deadline
}

func (d *deadline) stop() {
	d.set++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (h *half) setDeadline(d *deadline, t time.Time) error {
	h.update(func(*half) {
		d.stop()
		wait := time.Until(t)
		if d.passed = !t.IsZero() && wait <= 0; d.passed || t.IsZero() {
			return
		}
		mine := d.set
		d.timer = time.AfterFunc(wait, func() {
			h.update(func(*half) { d.passed = d.passed || d.set == mine })
		})
	})
	return nil
}
