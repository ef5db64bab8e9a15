package conns

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fakes is a listener of connections from addresses of the test's choice.
type fakes chan net.Conn

func (f fakes) Accept() (net.Conn, error) {
	c, ok := <-f
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (f fakes) Close() error   { close(f); return nil }
func (f fakes) Addr() net.Addr { return &net.TCPAddr{} }

type fake struct {
	net.Conn
	from string
}

func (f fake) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(f.from), 1))
}

// connect has a client connect, and returns both ends; the server's is nil if
// there was no room yet.
func connect(t *testing.T, in fakes, accepted chan net.Conn, from string) (client, server net.Conn) {
	t.Helper()
	client, far := net.Pipe()
	t.Cleanup(func() { client.Close() })
	in <- fake{far, from}
	synctest.Wait()
	select {
	case server = <-accepted:
	default:
	}
	return client, server
}

func serveFakes(l *Listener) chan net.Conn {
	accepted := make(chan net.Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go c.Read(make([]byte, 1)) // as a server does that waits for a request
			accepted <- c
		}
	}()
	return accepted
}

func isOpen(client net.Conn) bool {
	client.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := client.Read(make([]byte, 1))
	return err != io.EOF
}

// The connection that has been quiet for the longest is closed for another one,
// and none that has a request. While all have one, the next waits.
func TestQuietConnectionsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(fakes)
		var told atomic.Int64
		l := Limit(in, Limits{Total: 3}, func(Stats) { told.Add(1) })
		defer l.Close()
		accepted := serveFakes(l)
		busyClient, busy := connect(t, in, accepted, "192.0.2.1")
		Follow(busy, http.StateActive)
		firstClient, first := connect(t, in, accepted, "192.0.2.1")
		time.Sleep(time.Second)
		_, second := connect(t, in, accepted, "192.0.2.1")
		Follow(first, http.StateActive)
		time.Sleep(time.Second)
		Follow(first, http.StateIdle)
		time.Sleep(time.Second)
		_, third := connect(t, in, accepted, "192.0.2.2") // for the second, which has been quiet for longer
		if third == nil || !isOpen(firstClient) || !isOpen(busyClient) {
			t.Fatal("the wrong one was closed")
		}
		if _, err := second.Write([]byte("x")); err == nil {
			t.Error("the second is open")
		}
		Follow(first, http.StateActive)
		Follow(third, http.StateActive)
		if _, c := connect(t, in, accepted, "192.0.2.3"); c != nil {
			t.Error("a fourth has room")
		}
		if !l.Waiting() {
			t.Error("nobody waits")
		}
		Follow(first, http.StateIdle)
		time.Sleep(tick / 2)
		if len(accepted) > 0 {
			t.Error("a client had no time for its next request")
		}
		time.Sleep(tick)
		if len(accepted) != 1 || isOpen(firstClient) {
			t.Error("a quiet connection makes no room")
		}
		if s := l.Stats(); s.Open != 3 || s.Closed != 2 || s.Refused != 0 || told.Load() != 2 {
			t.Errorf("%+v, told %d times", s, told.Load())
		}
	})
}

// A connection whose bytes the server has read and works on has no request yet,
// and stays, however slow the server is.
func TestHeadsBeingReadStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(fakes)
		l := Limit(in, Limits{Total: 1}, nil)
		defer l.Close()
		accepted := serveFakes(l)
		client, server := connect(t, in, accepted, "192.0.2.1")
		if _, err := client.Write([]byte("G")); err != nil { // which ends the server's read
			t.Fatal(err)
		}
		connect(t, in, accepted, "192.0.2.2")
		time.Sleep(time.Minute)
		if len(accepted) > 0 {
			t.Fatal("the connection was closed while the server worked on its head")
		}
		go server.Read(make([]byte, 1)) // the server wants the rest of the head, which doesn't come
		time.Sleep(2 * ripeAfter * tick)
		if len(accepted) != 1 {
			t.Error("half a head keeps its room")
		}
	})
}

// An address has its share of connections, and one that opens many takes its own
// room only.
func TestAddressesHaveTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(fakes)
		l := Limit(in, Limits{Total: 10, PerAddress: 8, Loopback: true}, nil)
		defer l.Close()
		accepted := serveFakes(l)
		politeClient, _ := connect(t, in, accepted, "192.0.2.1")
		for range 30 {
			time.Sleep(time.Second)
			if _, c := connect(t, in, accepted, "192.0.2.2"); c == nil {
				t.Fatal("no room")
			}
		}
		if !isOpen(politeClient) {
			t.Error("the other address lost its connection")
		}
		if s := l.Stats(); s.Open != 9 || s.Closed != 22 {
			t.Errorf("%+v", s)
		}
		for range 30 { // of one network
			time.Sleep(time.Second)
			connect(t, in, accepted, "2001:db8::1")
			connect(t, in, accepted, "2001:db8::2")
		}
		if !isOpen(politeClient) {
			t.Error("the other address lost its connection")
		}
		for l.Stats().Open > 0 { // calls, which are never closed
			for _, a := range l.addresses {
				for e := a.quiet.others.Front(); e != nil; e = a.quiet.others.Front() {
					e.Value.(*Conn).Close()
				}
			}
		}
		for range 9 {
			if _, c := connect(t, in, accepted, "192.0.2.2"); c != nil {
				Follow(c, http.StateActive)
			}
		}
		if s := l.Stats(); s.Open != 8 || s.Refused != 1 {
			t.Errorf("%+v, want one refused", s)
		}
		for range 2 {
			if _, c := connect(t, in, accepted, "127.0.0.1"); c == nil {
				t.Error("no room for a program on this machine")
			}
		}
	})
}

// While one address has all the room with its calls, its next client waits.
func TestOneAddressMayHaveAllTheRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(fakes)
		l := Limit(in, Limits{Total: 2, PerAddress: 1, Loopback: true}, nil)
		defer l.Close()
		accepted := serveFakes(l)
		var last net.Conn
		for range 2 {
			_, last = connect(t, in, accepted, "127.0.0.1")
			Follow(last, http.StateActive)
		}
		connect(t, in, accepted, "127.0.0.1")
		time.Sleep(time.Hour)
		if s := l.Stats(); s.Refused != 0 || len(accepted) != 0 {
			t.Errorf("%+v, %d accepted; want one that waits", s, len(accepted))
		}
		last.Close()
		synctest.Wait()
		if len(accepted) != 1 {
			t.Error("it waits on")
		}
	})
}

// Once the listener is closed, a server waits for requests alone.
func TestCloseEndsQuietConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(fakes)
		l := Limit(in, Limits{Total: 10}, nil)
		accepted := serveFakes(l)
		quietClient, _ := connect(t, in, accepted, "192.0.2.1")
		busyClient, busy := connect(t, in, accepted, "192.0.2.1")
		Follow(busy, http.StateActive)
		l.Close()
		if isOpen(quietClient) || !isOpen(busyClient) {
			t.Error("the wrong ones are open")
		}
		Follow(busy, http.StateIdle)
		if isOpen(busyClient) {
			t.Error("it's open after its request")
		}
		if s := l.Stats(); s.Open != 0 || len(l.addresses) != 0 {
			t.Errorf("%+v, %d addresses", s, len(l.addresses))
		}
	})
}
