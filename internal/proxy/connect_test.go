package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// echo takes what CONNECT hands over, and sends it back with the name in front.
func echo(c net.Conn, name string) {
	go func() {
		defer c.Close()
		b, _ := io.ReadAll(c)
		_, _ = io.WriteString(c, name+":"+string(b))
	}()
}

// dialling has tunnels connect to what the test wants.
func dialling(most int, dial func() (net.Conn, error), hosts ...string) *Tunnels {
	t := NewTunnels(hosts, most)
	t.dial = func(context.Context, string, string) (net.Conn, error) { return dial() }
	return t
}

// halfClosing sends a request, ends its own direction, and reads the rest.
func halfClosing(t *testing.T, address, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, request)
	c.(*net.TCPConn).CloseWrite()
	b, _ := io.ReadAll(c)
	return string(b)
}

const connected = "HTTP/1.1 200 Connection established\r\n\r\n"

func TestConnect(t *testing.T) {
	var arrived atomic.Pointer[string]
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	go func() {
		for {
			c, err := far.Accept()
			if err != nil {
				return
			}
			b, _ := io.ReadAll(c) // until the client's direction ends
			text := string(b)
			arrived.Store(&text)
			io.WriteString(c, "static")
			c.Close()
		}
	}()
	tunnels := dialling(4, func() (net.Conn, error) { return net.Dial("tcp", far.Addr().String()) }, "ddragon.leagueoflegends.com")
	defer tunnels.Close()
	obs := newSeen()
	address := serve(t, Options{Transport: roundTrip(nil), Observer: obs, Connect: &Connect{Terminate: echo, Tunnels: tunnels}})
	ask := func(target string, lines ...string) string {
		return strings.Join(append([]string{"CONNECT " + target + " HTTP/1.1", "Host: relay.test"}, lines...), "\r\n") + "\r\n\r\n"
	}
	// What comes with the request already is not lost.
	if got := halfClosing(t, address, ask("euw1.api.riotgames.com:443", "Proxy-Authorization: Basic c2VjcmV0")+"hello"); got != connected+"euw1.api.riotgames.com:hello" {
		t.Errorf("a host of the API: %q", got)
	}
	if got := halfClosing(t, address, ask("EUW1.API.riotgames.com:443")+"x"); got != connected+"euw1.api.riotgames.com:x" {
		t.Errorf("in capitals: %q", got)
	}
	if got := halfClosing(t, address, ask("ddragon.leagueoflegends.com:443", "Proxy-Authorization: Basic c2VjcmV0")+"opaque\x00bytes"); got != connected+"static" {
		t.Errorf("a tunnel: %q", got)
	}
	if got := arrived.Load(); got == nil || *got != "opaque\x00bytes" {
		t.Errorf("through the tunnel came %v", got)
	}
	want := TunnelTraffic{"ddragon.leagueoflegends.com", 0, 1, int64(len("opaque\x00bytes")), int64(len("static"))}
	for end := time.Now().Add(5 * time.Second); tunnels.Traffic()[0].Open > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if got := tunnels.Traffic(); len(got) != 1 || got[0] != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if obs.started != 0 {
		t.Errorf("the observer saw %d calls", obs.started)
	}
	for target, says := range map[string]string{
		"evil.example:443":                                 "not allowed",
		"euw1.api.riotgames.com:80":                        "port 443",
		"euw1.api.riotgames.com:8443":                      "port 443",
		"euw1.api.riotgames.com:443:443":                   "",
		"euw1.api.riotgames.com":                           "port 443",
		"euw1.api.riotgames.com.:443":                      "not allowed",
		"euw9.api.riotgames.com:443":                       "unknown host",
		"x.euw1.api.riotgames.com:443":                     "not allowed",
		"api.riotgames.com:443":                            "not allowed",
		"euw1.api.riotgames.com.evil.example:443":          "not allowed",
		"secret:secret@euw1.api.riotgames.com:443":         "not allowed",
		"euw1.api.riotgames.com@evil.example:443":          "not allowed",
		"euw1。api.riotgames.com:443":                       "not allowed",
		"[::1]:443":                                        "not allowed",
		"[::ffff:127.0.0.1]:443":                           "not allowed",
		"127.0.0.1:443":                                    "not allowed",
		"127.0.0.1:22":                                     "port 443",
		"localhost:443":                                    "not allowed",
		"169.254.169.254:443":                              "not allowed",
		"2130706433:443":                                   "not allowed",
		"ddragon.leagueoflegends.com:22":                   "port 443",
		"ddragon.leagueoflegends.com.:443":                 "not allowed",
		"x.ddragon.leagueoflegends.com:443":                "not allowed",
		"ddragon.leagueoflegends.com:443@evil.example:443": "not allowed",
		"*:443":                             "not allowed",
		"/euw1.api.riotgames.com:443":       "not allowed",
		"http://euw1.api.riotgames.com:443": "",
	} {
		raw := sendRaw(t, address, ask(target, "Connection: close"))
		if says == "" { // net/http can't read it
			if len(raw) < 12 || raw[9] != '4' {
				t.Errorf("%s: %q", target, raw)
			}
			continue
		}
		checkRefusal(t, target, raw, 403)
		if !strings.Contains(raw, says) {
			t.Errorf("%s: %q doesn't say %q", target, raw, says)
		}
	}
	raw := sendRaw(t, address, ask("euw1.api.riotgames.com:443", "Content-Length: 5", "Connection: close")+"GET /")
	checkRefusal(t, "with a body", raw, 403)
	raw = sendRaw(t, address, ask("euw1.api.riotgames.com:443", "Transfer-Encoding: chunked", "Connection: close")+"0\r\n\r\n")
	checkRefusal(t, "with a chunked body", raw, 403)
}

func TestTunnelsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		says   string
	}{
		"private": {&net.OpError{Op: "dial", Err: errNotPublic}, 403, "no public address"},
		"refused": {errors.New("dial tcp 10.1.2.3:443: connection refused"), 502, "could not be reached"},
		"slow":    {context.DeadlineExceeded, 504, "in time"},
	} {
		tunnels := dialling(1, func() (net.Conn, error) { return nil, c.err }, "dd.b.pvp.net")
		address := serve(t, Options{Transport: roundTrip(nil), Connect: &Connect{Terminate: echo, Tunnels: tunnels}})
		for range 2 { // the place of the first is free again
			raw := sendRaw(t, address, "CONNECT dd.b.pvp.net:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			checkRefusal(t, name, raw, c.status)
			if !strings.Contains(raw, c.says) || strings.Contains(raw, "10.1.2.3") {
				t.Errorf("%s: %q", name, raw)
			}
		}
		tunnels.Close()
	}
	// And without any.
	address := serve(t, Options{Transport: roundTrip(nil), Connect: &Connect{Terminate: echo}})
	checkRefusal(t, "no tunnels", sendRaw(t, address, "CONNECT dd.b.pvp.net:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), 403)
}

// So many, and then no more until one ends.
func TestTunnelsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var far []net.Conn
		tunnels := dialling(2, func() (net.Conn, error) { a, b := net.Pipe(); far = append(far, b); return a, nil }, "x", "y")
		var near []net.Conn
		for range 2 {
			there, err := tunnels.reach(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			here, client := net.Pipe()
			near = append(near, client)
			tunnels.join("x", here, there)
		}
		if got := tunnels.Traffic(); len(got) != 2 || got[0].Open != 2 || got[0].Opened != 2 || got[1] != (TunnelTraffic{Host: "y"}) {
			t.Errorf("%+v", got)
		}
		if _, err := tunnels.reach(t.Context(), "x"); replyFor(err, false, "").status != http.StatusTooManyRequests || replyFor(err, false, "").retryAfter < 1 {
			t.Errorf("a third one: %v", err)
		}
		far[0].Close()
		synctest.Wait()
		if there, err := tunnels.reach(t.Context(), "x"); err != nil {
			t.Error(err)
		} else {
			tunnels.release(there)
		}
		if got := tunnels.Traffic()[0]; got.Open != 1 || got.Opened != 2 {
			t.Errorf("after an end: %+v", got)
		}
		tunnels.Close()
		if _, err := near[1].Read(make([]byte, 1)); err == nil {
			t.Error("a tunnel outlives Close")
		}
		if _, err := tunnels.reach(t.Context(), "x"); err == nil {
			t.Error("one more after Close")
		}
	})
}

// A tunnel in which one side moves lives; one in which nothing moves ends.
func TestTunnelIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far, there := net.Pipe()
		here, client := net.Pipe()
		tunnels := dialling(1, func() (net.Conn, error) { return there, nil }, "x")
		defer tunnels.Close()
		c, err := tunnels.reach(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		tunnels.join("x", here, c)
		in := bufio.NewReader(client)
		for range 10 { // a download: the client is silent
			time.Sleep(tunnelIdle - time.Second)
			if _, err := io.WriteString(far, "x"); err != nil {
				t.Fatal(err)
			}
			if b, err := in.ReadByte(); err != nil || b != 'x' {
				t.Fatalf("%q, %v", b, err)
			}
		}
		begin := time.Now()
		if _, err := in.ReadByte(); err == nil {
			t.Error("it goes on")
		}
		if took := time.Since(begin); took != tunnelIdle {
			t.Errorf("it ended after %v", took)
		}
	})
}

func TestNoTunnelToPrivateAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "104.16.0.1": true, "2606:4700::1111": true, "64:ff9b::8.8.8.8": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "0.0.0.0": false, "::": false, "0.1.2.3": false, "10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false,
		"192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "198.18.0.1": false, "192.0.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false, "64:ff9b::10.0.0.1": false, "64:ff9b::127.0.0.1": false, "64:ff9b:1::1": false, "2002:7f00:1::": false,
		"fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12::1": false, "ff02::1": false, "fec0::1": false, "2001:db8::1": false, "2001::1": false, "100::1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public = %v", address, got)
		}
	}
	// The dialler itself looks, after the name was resolved.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, name := range []string{"localhost", "127.0.0.1", "[::1]"} {
		if c, err := NewTunnels(nil, 1).dial(t.Context(), "tcp", name+":"+port); !isPrivate(err) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}
