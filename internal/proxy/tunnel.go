package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	tunnelIdle = 2 * time.Minute // without a byte either way, a tunnel ends
	tunnelDial = 10 * time.Second
)

// Tunnels pass bytes to a few hosts and back, without looking at them: static
// data, for clients that send all that they want through one proxy.
type Tunnels struct {
	hosts map[string]*traffic
	most  int
	dial  func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex
	open    map[net.Conn]func() // the far end → what ends the tunnel; nil while it is being made
	making  int
	closed  bool
	running sync.WaitGroup
}

// NewTunnels allows port 443 of the named hosts, which are in lower case, and
// at most so many tunnels at a time. Whatever these names resolve to, no tunnel
// leads to an address that isn't public.
func NewTunnels(hosts []string, most int) *Tunnels {
	d := &net.Dialer{Timeout: tunnelDial, Control: onlyPublic}
	t := &Tunnels{hosts: make(map[string]*traffic, len(hosts)), most: most, dial: d.DialContext, open: make(map[net.Conn]func())}
	for _, host := range hosts {
		t.hosts[host] = &traffic{}
	}
	return t
}

func (t *Tunnels) has(name string) bool { return t != nil && t.hosts[name] != nil }

// reach connects to a host. What it returns must go to join or release.
func (t *Tunnels) reach(ctx context.Context, name string) (net.Conn, error) {
	t.mu.Lock()
	full := t.closed || len(t.open)+t.making >= t.most
	if !full {
		t.making++
	}
	t.mu.Unlock()
	if full {
		return nil, tooMany(t.most)
	}
	c, err := t.dial(ctx, "tcp", net.JoinHostPort(name, "443"))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.making--
	switch {
	case isPrivate(err):
		return nil, invalidRoute(http.StatusForbidden, "CONNECT to "+name+" is not allowed: it has no public address")
	case err != nil:
		return nil, fmt.Errorf("tunnel to %s: %w", name, err)
	}
	t.open[c] = nil
	return c, nil
}

// release returns a connection up.
func (t *Tunnels) release(there net.Conn) {
	there.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, there)
}

// join passes bytes between both until they end, in a goroutine of its own. name
// is what there was reached by.
func (t *Tunnels) join(name string, here, there net.Conn) {
	end := func() { here.Close(); there.Close() }
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		end()
		delete(t.open, there)
		return
	}
	t.open[there] = end
	count := t.hosts[name]
	count.begins()
	t.running.Go(func() {
		defer t.release(there)
		defer count.ends()
		defer end()
		live := &lifetime{here, there}
		live.extend()
		var up sync.WaitGroup
		up.Go(func() { pass(there, here, live, &count.up) })
		pass(here, there, live, &count.down)
		up.Wait()
	})
}

// Close ends all tunnels, and there are none after it. A nil t has none.
func (t *Tunnels) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	t.closed = true
	for _, end := range t.open {
		if end != nil {
			end()
		}
	}
	t.mu.Unlock()
	t.running.Wait()
}

// lifetime is what the two directions of a tunnel share: while one moves, the
// other may stand still.
type lifetime struct{ here, there net.Conn }

func (l *lifetime) extend() {
	end := time.Now().Add(tunnelIdle)
	_ = l.here.SetDeadline(end) // of one that is closed: its next use says so
	_ = l.there.SetDeadline(end)
}

// pass copies one direction. Its regular end leaves the other one open; any
// other ends both.
func pass(to, from net.Conn, live *lifetime, count *atomic.Int64) {
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)
	for {
		n, err := from.Read(buf[:])
		if n > 0 {
			live.extend()
			written, failed := to.Write(buf[:n])
			count.Add(int64(written))
			if failed != nil {
				err = failed
			}
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) || closeWrite(to) != nil {
			live.here.Close()
			live.there.Close()
		}
		return
	}
}

var errNotPublic = errors.New("the address is not public")

// onlyPublic looks at the address that is about to be dialled, after names have
// been resolved: what a name says is no promise.
func onlyPublic(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !public(to.Addr()) {
		return errNotPublic
	}
	return nil
}

// public reports whether an address is one of the internet's.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) { // an IPv4 address, for those who have IPv6 only
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, block := range reserved {
		if block.Contains(a) {
			return false
		}
	}
	return true
}

var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// reserved are the blocks that are nobody's on the internet, or may lead back
// into private ones (RFC 6890 and its successors).
var reserved = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("3fff::/20"),
	netip.MustParsePrefix("fec0::/10"),
}
