package replicas

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"time"
)

// On a machine without processor time the simulated edge, which shares this
// process with all callers, reads calls long after they have arrived, and counts
// them then: calls of two windows seem to belong to one. Riot has no such delay.
// So a call is judged by the moment at which the kernel received it.

// kernel notes when calls arrive at a listener.
type kernel struct {
	net.Listener
	calls, seconds int // the limit

	mu       sync.Mutex
	arrivals []time.Time
	latest   time.Duration // the longest time from a call's arrival until it was read
}

func (k *kernel) Accept() (net.Conn, error) {
	c, err := k.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &judgedConn{c, k}, nil
}

// judgedConn is a connection to the edge. A call is read from it at once: the
// relay writes it in one piece, after the answer to the one before.
type judgedConn struct {
	net.Conn
	kernel *kernel
}

func (c *judgedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if bytes.HasPrefix(b[:n], []byte("GET ")) {
		c.kernel.arrived(received(c.Conn))
	}
	return n, err
}

func (k *kernel) arrived(at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.arrivals = append(k.arrivals, at)
	k.latest = max(k.latest, time.Since(at))
}

// sorted returns when calls have arrived.
func (k *kernel) sorted() []time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	slices.SortFunc(k.arrivals, time.Time.Compare)
	return slices.Clone(k.arrivals)
}

// violations counts the calls that an edge without delay would have rejected as
// too many. Its windows begin with the first call after the one before has ended.
func (r *rig) violations() (n int) {
	w := time.Duration(r.kernel.seconds) * time.Second
	var opened time.Time
	count := 0
	for _, at := range r.kernel.sorted() {
		if at.Sub(opened) >= w {
			opened, count = at, 0
		}
		if count++; count > r.kernel.calls {
			n++
		}
	}
	return n
}

// worst is how many calls lay in the fullest interval of the limit's length,
// wherever that began.
func (r *rig) worst() (n int) {
	w := time.Duration(r.kernel.seconds) * time.Second
	all := r.kernel.sorted()
	first := 0
	for i, at := range all {
		for at.Sub(all[first]) >= w {
			first++
		}
		n = max(n, i+1-first)
	}
	return n
}
