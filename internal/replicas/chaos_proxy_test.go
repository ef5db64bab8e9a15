package replicas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// chaos is a TCP proxy on loopback. While it is wild, each connection meets a
// fate that is drawn from a seed, after a number of bytes that is drawn too.
type chaos struct {
	listener net.Listener
	to       string
	most     int64         // bytes that a connection carries before its fate, at most
	hole     time.Duration // until a connection without an end is reset

	mu    sync.Mutex
	r     *rand.Rand
	wild  bool
	pairs map[*pair]bool
	met   [fates]int // how many connections met each fate
	work  sync.WaitGroup
}

// fate is what becomes of a connection.
type fate int

const (
	delayed fate = iota // each packet is held up
	drip                // a few bytes at a time
	cut                 // in the middle of a packet it is closed
	reset               // in the middle of a packet it is reset
	half                // one direction ends, the other goes on
	hole                // it swallows everything
	fates
)

func (f fate) String() string {
	return [...]string{"delayed", "dripped", "cut", "reset", "half-closed", "black-holed"}[f]
}

// latest is how long a packet may be held up.
const latest = 150 * time.Millisecond

// newChaos leads to an address, from its own. It is calm at first.
func newChaos(t *testing.T, to string, seed uint64, most int64, hole time.Duration) *chaos {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &chaos{listener: l, to: to, most: most, hole: hole, r: rand.New(rand.NewPCG(seed, 12)), pairs: map[*pair]bool{}}
	c.work.Go(c.accept)
	t.Cleanup(func() {
		l.Close()
		c.set(false)
		c.breakAll()
		c.work.Wait()
	})
	return c
}

func (c *chaos) addr() string { return c.listener.Addr().String() }

// set makes it wild or calm. A calm one carries everything, on the connections
// that are there too; those that swallow are reset.
func (c *chaos) set(wild bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wild = wild
	for p := range c.pairs {
		if !wild && p.struck && p.fate >= half {
			p.abort()
		}
	}
}

// breakAll resets all connections.
func (c *chaos) breakAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.pairs {
		p.abort()
	}
}

// tell lists the fates that connections have met.
func (c *chaos) tell() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b bytes.Buffer
	for f, n := range c.met {
		fmt.Fprintf(&b, "%d %v, ", n, fate(f))
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte(", ")))
}

// pair is a connection with both of its ends.
type pair struct {
	near, far *net.TCPConn
	fate      fate
	up        bool // the direction that a half-closed one loses

	// Under the lock of chaos:
	left   int64 // bytes until its fate
	struck bool
}

func (p *pair) abort() {
	_, _ = p.near.SetLinger(0), p.far.SetLinger(0)
	p.close()
}

func (p *pair) close() {
	p.near.Close()
	p.far.Close()
}

func (c *chaos) accept() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.DialTimeout("tcp", c.to, time.Second)
		if err != nil {
			near.Close()
			continue
		}
		c.mu.Lock()
		p := &pair{near: near.(*net.TCPConn), far: far.(*net.TCPConn), fate: fate(c.r.IntN(int(fates))), up: c.r.IntN(2) == 0, left: c.r.Int64N(c.most)}
		c.pairs[p] = true
		c.mu.Unlock()
		var both sync.WaitGroup
		both.Go(func() { c.carry(p, p.far, p.near, true) })
		both.Go(func() { c.carry(p, p.near, p.far, false) })
		c.work.Go(func() {
			both.Wait()
			p.close()
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.pairs, p)
		})
	}
}

// strikes counts bytes and reports whether the connection's fate is in force.
func (c *chaos) strikes(p *pair, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.left -= int64(n); !c.wild || p.left > 0 {
		return false
	}
	if !p.struck {
		p.struck = true
		c.met[p.fate]++
		if p.fate >= half {
			time.AfterFunc(c.hole, p.abort)
		}
	}
	return true
}

// between draws a duration up to d.
func (c *chaos) between(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.r.Int64N(int64(d)))
}

// carry carries one direction until it ends.
func (c *chaos) carry(p *pair, to, from *net.TCPConn, up bool) {
	b := make([]byte, 4<<10)
	for {
		n, err := from.Read(b)
		if errors.Is(err, io.EOF) {
			_ = to.CloseWrite()
			return
		}
		if err == nil {
			err = c.pass(p, to, b[:n], up)
		}
		if err != nil {
			p.close()
			return
		}
	}
}

var errFate = errors.New("the connection's fate")

// pass passes a packet on, unless its connection's fate is another.
func (c *chaos) pass(p *pair, to *net.TCPConn, b []byte, up bool) error {
	step := len(b)
	if c.strikes(p, len(b)) {
		switch p.fate {
		case delayed:
			time.Sleep(c.between(latest))
		case drip:
			step = 40
		case cut, reset:
			_, _ = to.Write(b[:len(b)/2])
			if p.fate == reset {
				p.abort()
			}
			return errFate
		case half:
			if up == p.up {
				_ = to.CloseWrite() // again and again, which changes nothing
				return nil
			}
		case hole:
			return nil
		}
	}
	for len(b) > 0 {
		n := min(step, len(b))
		if _, err := to.Write(b[:n]); err != nil {
			return err
		}
		if b = b[n:]; len(b) > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// The proxy does to connections what TestChaos believes it does.
func TestChaosProxy(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	c := newChaos(t, l.Addr().String(), 1, 1, 500*time.Millisecond)
	text := bytes.Repeat([]byte("0123456789"), 20)
	// echo sends, and tells what came back before the connection ended.
	echo := func() (got []byte, took time.Duration, err error) {
		conn, err := net.Dial("tcp", c.addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		began := time.Now()
		_ = conn.SetDeadline(began.Add(10 * time.Second))
		if _, err := conn.Write(text); err != nil {
			t.Fatal(err)
		}
		got = make([]byte, len(text))
		n, err := io.ReadFull(conn, got)
		return got[:n], time.Since(began), err
	}
	if got, _, err := echo(); err != nil || !bytes.Equal(got, text) {
		t.Errorf("calm: %q, %v", got, err)
	}
	c.set(true)
	for range 60 {
		got, took, err := echo()
		var timeout net.Error
		if !bytes.HasPrefix(text, got) || errors.As(err, &timeout) && timeout.Timeout() || took > 5*time.Second {
			t.Errorf("%d bytes, right ones %v, after %v: %v", len(got), bytes.HasPrefix(text, got), took, err)
		}
	}
	for f, n := range c.met {
		if n == 0 {
			t.Errorf("of 60 connections none was %v", fate(f))
		}
	}
	c.set(false)
	if got, _, err := echo(); err != nil || !bytes.Equal(got, text) {
		t.Errorf("calm again: %q, %v", got, err)
	}
}
