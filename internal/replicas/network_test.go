package replicas

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// way is a TCP proxy on loopback: the network between a relay and its store.
type way struct {
	listener net.Listener

	mu    sync.Mutex
	to    string
	cond  condition
	conns map[net.Conn]bool
	work  sync.WaitGroup
}

// condition is the state of a network. The zero value is a good one.
type condition struct {
	delay, jitter time.Duration // of each direction
	dropUp        bool          // what the relay sends gets lost
	dropDown      bool          // what the store sends gets lost
	frozen        bool          // everything waits until that is over
	bytewise      bool          // each byte is a packet of its own
	resets        float64       // chance that a packet breaks the connection
}

// newWay leads to an address, from its own.
func newWay(t *testing.T, to string) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{listener: l, to: to, conns: map[net.Conn]bool{}}
	w.work.Go(w.accept)
	t.Cleanup(func() {
		l.Close()
		w.set(condition{})
		w.reset()
		w.work.Wait()
	})
	return w
}

func (w *way) url() string { return "redis://" + w.listener.Addr().String() }

// set changes the network's state, also for what is under way.
func (w *way) set(c condition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cond = c
}

func (w *way) now() condition {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cond
}

// lead leads to another address from now on, and breaks all connections.
func (w *way) lead(to string) {
	w.mu.Lock()
	w.to = to
	w.mu.Unlock()
	w.reset()
}

// reset breaks all connections.
func (w *way) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		c.Close()
	}
}

func (w *way) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		to := w.to
		w.mu.Unlock()
		far, err := net.Dial("tcp", to)
		if err != nil {
			near.Close()
			continue
		}
		w.mu.Lock()
		w.conns[near], w.conns[far] = true, true
		w.mu.Unlock()
		var both sync.WaitGroup
		both.Go(func() { w.carry(far, near, true) })
		both.Go(func() { w.carry(near, far, false) })
		w.work.Go(func() {
			both.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.conns, near)
			delete(w.conns, far)
		})
	}
}

// packet is what arrives together, and when.
type packet struct {
	at   time.Time
	data []byte
}

// carry carries one direction until an end is closed.
func (w *way) carry(to, from net.Conn, up bool) {
	defer to.Close()
	defer from.Close()
	packets := make(chan packet, 1000)
	var out sync.WaitGroup
	out.Go(func() { w.deliver(to, packets, up) })
	defer out.Wait()
	defer close(packets)
	var last time.Time
	for {
		b := make([]byte, 32<<10)
		n, err := from.Read(b)
		if err != nil {
			return
		}
		c := w.now()
		if c.resets > 0 && rand.Float64() < c.resets {
			return
		}
		at := time.Now().Add(c.delay)
		if c.jitter > 0 {
			at = at.Add(rand.N(c.jitter))
		}
		if at.Before(last) {
			at = last // TCP keeps the order
		}
		last = at
		packets <- packet{at, b[:n]}
	}
}

func (w *way) deliver(to net.Conn, packets <-chan packet, up bool) {
	for p := range packets {
		time.Sleep(time.Until(p.at))
		for w.now().frozen {
			time.Sleep(5 * time.Millisecond)
		}
		c := w.now()
		if up && c.dropUp || !up && c.dropDown {
			continue
		}
		step := len(p.data)
		if c.bytewise {
			step = 1
		}
		for len(p.data) > 0 {
			if _, err := to.Write(p.data[:step]); err != nil {
				go func() {
					for range packets {
						continue
					}
				}()
				return
			}
			p.data = p.data[step:]
		}
	}
}

// The network does what the other tests believe it does.
func TestNetwork(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	w := newWay(t, l.Addr().String())
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", w.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	// echo sends and returns how long the answer took; -1 = none came.
	echo := func(c net.Conn, patience time.Duration) time.Duration {
		began := time.Now()
		_ = c.SetDeadline(began.Add(patience))
		b := make([]byte, 5)
		if _, err := c.Write([]byte("hello")); err != nil {
			return -1
		}
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
			return -1
		}
		return time.Since(began)
	}
	const long = 10 * time.Second
	c := dial()
	if echo(c, long) < 0 {
		t.Error("no echo")
	}
	w.set(condition{delay: 30 * time.Millisecond, jitter: 5 * time.Millisecond, bytewise: true})
	if d := echo(c, long); d < 60*time.Millisecond {
		t.Errorf("an echo after %v; want 60 ms or more", d)
	}
	for _, bad := range []condition{{dropUp: true}, {dropDown: true}, {resets: 1}} {
		w.set(bad)
		if d := echo(dial(), 100*time.Millisecond); d >= 0 {
			t.Errorf("an echo through %+v", bad)
		}
	}
	w.set(condition{frozen: true})
	c = dial()
	time.AfterFunc(100*time.Millisecond, func() { w.set(condition{}) })
	if d := echo(c, long); d < 90*time.Millisecond {
		t.Errorf("an echo after %v through ice", d)
	}
	w.reset()
	if echo(c, long) >= 0 {
		t.Error("an echo on a broken connection")
	}
}
