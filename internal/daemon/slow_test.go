package daemon

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/internal/conns"
	"riftrelay/internal/proxy"
	"riftrelay/riotsim"
)

// Clients that are slow, or send too much, cost their own connection and
// nothing else. In virtual time: the relay's server and the pipeline behind it,
// on connections without sockets.

type slowRig struct {
	*riotsim.Listener
	edge    *riotsim.Edge
	limiter *riftrelay.Limiter
	server  *server
}

func newSlowRig(t *testing.T, sim riotsim.Config) *slowRig {
	t.Helper()
	in, err := config.Parse(nil, world(map[string]string{"RIOT_TOKEN": canary, "PACING": "burst"}))
	if err != nil {
		t.Fatal(err)
	}
	s := in.Settings
	edge, err := riotsim.New(sim)
	if err != nil {
		t.Fatal(err)
	}
	l, err := riftrelay.New(s.Limiter())
	if err != nil {
		t.Fatal(err)
	}
	log := newLogger(&bytes.Buffer{}, s, true)
	h, err := proxy.New(proxy.Options{Transport: &riftrelay.Transport{Limiter: l, Base: edge.RoundTripper(), Timeout: 90 * time.Second}, Table: s.Table, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	g := &slowRig{riotsim.Pipe(), edge, l, newServer("TEST", "", h, conns.Limits{Total: 100}, log)}
	go g.server.serve(g.Listener)
	t.Cleanup(func() { g.server.http.Close(); g.server.connections.Wait(); l.Close(); edge.Close() })
	return g
}

func (g *slowRig) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := g.Dial(t.Context(), "tcp", "relay:80")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mustServe makes an ordinary call.
func (g *slowRig) mustServe(t *testing.T) {
	t.Helper()
	c := g.dial(t)
	defer c.Close()
	io.WriteString(c, "GET "+status+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("another client: %v, %v", resp, err)
	}
}

// gone waits until the relay has closed the connection, and says how long that
// took.
func gone(t *testing.T, c net.Conn) (took time.Duration, said string) {
	t.Helper()
	begin := time.Now()
	c.SetReadDeadline(begin.Add(time.Hour))
	b, _ := io.ReadAll(c)
	return time.Since(begin), string(b)
}

func TestSlowHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newSlowRig(t, riotsim.Config{})
		slow := g.dial(t)
		var writing sync.WaitGroup
		defer writing.Wait()
		defer slow.Close()
		writing.Go(func() {
			for _, b := range []byte("GET " + status + " HTTP/1.1\r\nHost: localhost\r\nX-Padding: " + strings.Repeat("x", 1000)) {
				if _, err := slow.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		g.mustServe(t)
		if took, _ := gone(t, slow); took > 15*time.Second {
			t.Errorf("cut after %v, want 10 s", took)
		}
		if n := g.edge.Report().Arrived; n != 1 {
			t.Errorf("%d arrived", n)
		}
	})
}

// Headers up to 32 kB pass, larger ones are refused, and the next client is
// served.
func TestLargeHeaders(t *testing.T) {
	for size, want := range map[int]int{31 << 10: 200, 64 << 10: 431, 1 << 20: 431} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newSlowRig(t, riotsim.Config{Requests: -1})
				c := g.dial(t)
				defer c.Close()
				go io.WriteString(c, "GET "+status+" HTTP/1.1\r\nHost: localhost\r\nX-Padding: "+strings.Repeat("x", size)+"\r\n\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil || resp.StatusCode != want {
					t.Fatalf("%v, %v; want %d", resp, err, want)
				}
				g.mustServe(t)
				for _, r := range g.edge.Requests() {
					if r.Header.Get("X-Padding") != "" {
						t.Error("the padding went up")
					}
				}
			})
		})
	}
}

// A request body that stands still ends after a minute, and frees the slot that
// it held; one that is slow arrives whole.
func TestSlowRequestBody(t *testing.T) {
	const codes = "POST /americas/lol/tournament/v5/codes HTTP/1.1\r\nHost: localhost\r\n"
	for name, head := range map[string]string{"kept": "Content-Length: 100\r\n\r\n", "streamed": "Transfer-Encoding: chunked\r\n\r\n64\r\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newSlowRig(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "1:3600"}}, Body: riotsim.Tiny, Requests: -1})
				still := g.dial(t)
				defer still.Close()
				io.WriteString(still, codes+head+"half of it")
				if took, said := gone(t, still); took > 65*time.Second || !strings.HasPrefix(said, "HTTP/1.1 408 ") {
					t.Errorf("cut after %v with %q, want 408 after a minute", took, said)
				}
				synctest.Wait()
				if s := g.limiter.Snapshot(); s.InFlight != 0 || s.Queued != 0 {
					t.Errorf("%d in flight, %d queued", s.InFlight, s.Queued)
				}

				time.Sleep(2 * time.Hour) // what broke off may have been counted
				slow := g.dial(t)
				defer slow.Close()
				io.WriteString(slow, codes+head)
				for range 10 {
					time.Sleep(5 * time.Second)
					io.WriteString(slow, "ten bytes.")
				}
				if name == "streamed" {
					io.WriteString(slow, "\r\n0\r\n\r\n")
				}
				resp, err := http.ReadResponse(bufio.NewReader(slow), nil)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("%v, %v", resp, err)
				}
				r := g.edge.Requests()
				if last := r[len(r)-1]; string(last.Body) != strings.Repeat("ten bytes.", 10) {
					t.Errorf("arrived: %q", last.Body)
				}
			})
		})
	}
}

// A client that has sent its body may wait in the queue for as long as it
// takes, and is noticed when it leaves.
func TestBodyThenQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newSlowRig(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "1:120"}}, Body: riotsim.Tiny})
		post := func() net.Conn {
			c := g.dial(t)
			io.WriteString(c, "POST /americas/lol/tournament/v5/codes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
			return c
		}
		first := post()
		defer first.Close()
		if resp, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		second := post()
		defer second.Close()
		begin := time.Now()
		if resp, err := http.ReadResponse(bufio.NewReader(second), nil); err != nil || resp.StatusCode != http.StatusOK || time.Since(begin) < 100*time.Second {
			t.Errorf("%v, %v after %v", resp, err, time.Since(begin))
		}
		third := post()
		synctest.Wait()
		if n := g.limiter.Snapshot().Queued; n != 1 {
			t.Errorf("%d queued", n)
		}
		time.Sleep(50 * time.Second)
		third.Close()
		synctest.Wait()
		if n := g.limiter.Snapshot().Queued; n != 0 {
			t.Errorf("%d queued after the client left", n)
		}
	})
}

// A client that doesn't read loses its connection after a minute; one that
// reads slowly gets everything.
func TestSlowReader(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 2<<20)
	synctest.Test(t, func(t *testing.T) {
		g := newSlowRig(t, riotsim.Config{Faults: []riotsim.Fault{{Method: "match-v5", Body: large}}})
		ask := func() net.Conn {
			c := g.dial(t)
			io.WriteString(c, "GET /europe/lol/match/v5/matches/EUW1_1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
			return c
		}
		still, slow := ask(), ask()
		defer still.Close()
		defer slow.Close()
		g.mustServe(t)
		resp, err := http.ReadResponse(bufio.NewReader(slow), nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for buf := make([]byte, 64<<10); err == nil; time.Sleep(5 * time.Second) {
			var k int
			k, err = io.ReadFull(resp.Body, buf)
			n += k
		}
		if n != len(large) {
			t.Errorf("%d of %d bytes arrived: %v", n, len(large), err)
		}
		if calls := g.server.calls.Load(); calls != 0 {
			t.Errorf("%d calls are served still", calls)
		}
	})
}
