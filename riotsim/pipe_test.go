package riotsim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pair returns both ends of a connection.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l := Pipe()
	got := make(chan net.Conn)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		got <- c
	}()
	client, err := l.Dial(t.Context(), "tcp", "euw1:443")
	if err != nil {
		t.Fatal(err)
	}
	return client, <-got
}

func TestPipeCarriesBytesBothWaysAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t)
		if n, err := c.Write([]byte("hello")); n != 5 || err != nil { // nobody reads yet: it is buffered
			t.Fatal(n, err)
		}
		buf := make([]byte, 3)
		for _, want := range []string{"hel", "lo"} {
			if n, err := s.Read(buf); string(buf[:n]) != want || err != nil {
				t.Errorf("read %q %v, want %q", buf[:n], err, want)
			}
		}
		s.Write([]byte("bye"))
		s.Close()
		s.Close()
		if all, err := io.ReadAll(c); string(all) != "bye" || err != nil {
			t.Errorf("after the peer closed: %q %v", all, err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("write to a closed peer: %v", err)
		}
		if _, err := s.Read(buf); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read after own close: %v", err)
		}
		if _, err := s.Write(buf); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write after own close: %v", err)
		}
		if c.RemoteAddr().String() != "euw1:443" || s.LocalAddr().Network() != "pipe" {
			t.Errorf("addresses %v %v", c.RemoteAddr(), s.LocalAddr())
		}
	})
}

func TestPipeHoldsTheWriterBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t)
		sent := bytes.Repeat([]byte("0123456789abcdef"), 3*room/16)
		wrote := false
		go func() {
			if n, err := c.Write(sent); n != len(sent) || err != nil {
				t.Errorf("wrote %d: %v", n, err)
			}
			wrote = true
			c.Close()
		}()
		synctest.Wait()
		if wrote {
			t.Error("a write of three times the room didn't wait")
		}
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("read %d bytes of %d: %v", len(got), len(sent), err)
		}
	})
}

func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t)
		began := time.Now()
		c.SetReadDeadline(began.Add(time.Second))
		c.SetReadDeadline(began.Add(3 * time.Second)) // the first must not fire
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		c.SetDeadline(time.Time{})
		s.Write([]byte("x"))
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("after the deadline was taken back: %d %v", n, err)
		}
		c.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := c.Write(make([]byte, room+1)); n != room || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("full: %d %v", n, err)
		}
		go func() {
			time.Sleep(time.Second)
			s.SetReadDeadline(time.Unix(1, 0)) // the way net/http breaks a read off
		}()
		if _, err := io.Copy(io.Discard, s); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a deadline set during a read: %v", err)
		}
	})
}

func TestPipeReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pair(t)
		s.Write([]byte("lost"))
		s.(interface{ SetLinger(int) error }).SetLinger(0)
		s.Close()
		if _, err := c.Read(make([]byte, 9)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v", err)
		}
	})
}

func TestPipeListenerCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Pipe()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Dial(ctx, "", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nobody accepts: %v", err)
		}
		go func() {
			time.Sleep(time.Second)
			l.Close()
			l.Close()
		}()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
		if _, err := l.Dial(t.Context(), "", ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial: %v", err)
		}
		if err := newEdge(t, Config{}).Serve(l); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve on a closed listener: %v", err)
		}
	})
}

func TestCloseWaitsForWhatIsOnItsWayUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, l := newEdge(t, Config{Latency: Latency{Up: time.Second}}), Pipe()
		go e.Serve(l)
		c := &http.Client{Transport: &http.Transport{DialContext: l.Dial}}
		go c.Do(request(t, t.Context(), euw+status))
		time.Sleep(500 * ms)
		began := time.Now()
		e.Close()
		if d := time.Since(began); d != 500*ms || e.Report().Accepted != 1 {
			t.Errorf("Close took %v: %+v", d, e.Report().Totals)
		}
	})
}

// Close leaves nothing behind: hung calls and idle connections included. (A bubble ends only when
// every goroutine in it has, so what this test adds is that Close itself waits for the edge's.)
func TestCloseLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, Config{Faults: []Fault{{Hang: time.Hour, Host: "na1"}}})
		served := make(chan error, 2)
		var clients []*http.Transport
		for range 2 {
			l := Pipe()
			go func() { served <- e.Serve(l) }()
			clients = append(clients, &http.Transport{DialContext: l.Dial})
			c := &http.Client{Transport: clients[len(clients)-1]}
			if code, _, _, err := get(t, c, request(t, t.Context(), euw+status)); code != 200 {
				t.Error(code, err)
			}
			go c.Do(request(t, t.Context(), "http://na1.api.riotgames.com"+status))
		}
		time.Sleep(time.Second)
		began := time.Now()
		e.Close()
		if d := time.Since(began); d != 0 {
			t.Errorf("Close took %v", d)
		}
		for range 2 {
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
		buf := make([]byte, 1<<20)
		if stacks := string(buf[:runtime.Stack(buf, true)]); strings.Contains(stacks, "riotsim.(*Edge).") {
			t.Errorf("still running:\n%s", stacks)
		}
		for _, c := range clients {
			c.CloseIdleConnections()
		}
		late := Pipe()
		if err := e.Serve(late); err != nil {
			t.Errorf("Serve after Close: %v", err)
		}
		if _, err := late.Dial(t.Context(), "", ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Serve after Close left the listener open: %v", err)
		}
	})
}
