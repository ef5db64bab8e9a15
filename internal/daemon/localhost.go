package daemon

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
)

// listenOn is net.Listen, but for localhost: that is every loopback address of
// this machine. Of programs that are told http://localhost some try 127.0.0.1
// only, some ::1 only.
func listenOn(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	host, port, err := net.SplitHostPort(address)
	if err != nil || !strings.EqualFold(host, "localhost") {
		return lc.Listen(ctx, "tcp", address)
	}
	for tries := 10; ; tries-- {
		four, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			return nil, err
		}
		_, got, err := net.SplitHostPort(four.Addr().String())
		if err != nil {
			panic("BUG: " + err.Error())
		}
		six, err := lc.Listen(ctx, "tcp", net.JoinHostPort("::1", got))
		if err == nil {
			return newPair(four, six), nil
		}
		if !hasSix(ctx) {
			return four, nil
		}
		four.Close()
		if port != "0" || tries == 0 {
			return nil, err // another program has it, and would get the relay's calls
		}
	}
}

// hasSix reports whether this machine has the address ::1.
func hasSix(ctx context.Context) bool {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// pair is two listeners as one. Its address is that of the first.
type pair struct {
	net.Listener
	second net.Listener
	in     chan arrival
	closed chan struct{}
	once   sync.Once
}

func newPair(first, second net.Listener) *pair {
	p := &pair{Listener: first, second: second, in: make(chan arrival), closed: make(chan struct{})}
	go p.accept(first)
	go p.accept(second)
	return p
}

// accept hands over what comes on l, one connection at a time: the rest waits
// in the system's queue, as it does without a pair.
func (p *pair) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		select {
		case p.in <- arrival{c, err}:
		case <-p.closed:
			if err == nil {
				c.Close()
			}
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// Accept returns the next connection of either.
func (p *pair) Accept() (net.Conn, error) {
	select {
	case a := <-p.in:
		return a.Conn, a.err
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close closes both.
func (p *pair) Close() error {
	p.once.Do(func() { close(p.closed) })
	return errors.Join(p.Listener.Close(), p.second.Close())
}
