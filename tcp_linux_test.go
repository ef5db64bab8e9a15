//go:build linux && !386 && !s390x

package riftrelay_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync/atomic"
	"testing"
	"time"

	"riftrelay"
)

// Of a real connection the system tells what it knows: plain, inside TLS, and
// under HTTP/2.
func TestTCPInfoOfRealConnections(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2.0"} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got := r.Proto; got != proto[:len(got)] {
				t.Errorf("%s, want %s", got, proto)
			}
			time.Sleep(20 * time.Millisecond)
		}))
		server.EnableHTTP2 = proto == "HTTP/2.0"
		if proto == "HTTP/1.1" {
			server.Start()
		} else {
			server.StartTLS()
		}
		// As the relay connects: what wraps its connections must not hide them.
		options := riftrelay.BaseOptions{DisableHTTP2: !server.EnableHTTP2}
		if c, ok := server.Client().Transport.(*http.Transport); ok && c.TLSClientConfig != nil {
			options.RootCAs = c.TLSClientConfig.RootCAs
		}
		client := &http.Client{Transport: riftrelay.NewBase(options)}
		var conn atomic.Value
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { conn.Store(info.Conn) }}
		for range 3 {
			req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, server.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			c := conn.Load().(net.Conn)
			if _, ok := c.(*tls.Conn); ok != (proto != "HTTP/1.1") {
				t.Errorf("%s: a %T", proto, c)
			}
			tcp := riftrelay.TCPInfoOf(c)
			if tcp.Least <= 0 || tcp.Least > 10*time.Second || tcp.Smoothed < tcp.Least || tcp.Smoothed > 10*time.Second ||
				tcp.Deviation <= 0 || tcp.Timeout < tcp.Smoothed || tcp.Timeout > 2*time.Minute || tcp.Resent < 0 || tcp.Resent > 1000 || tcp.Stuck {
				t.Errorf("%s: %+v", proto, tcp)
			}
			t.Logf("%s: %+v", proto, tcp)
		}
		client.CloseIdleConnections()
		server.Close()
		if tcp := riftrelay.TCPInfoOf(conn.Load().(net.Conn)); tcp.Tells() {
			t.Errorf("%s: of a closed connection: %+v", proto, tcp)
		}
	}
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	if tcp := riftrelay.TCPInfoOf(here); tcp.Tells() {
		t.Errorf("of a pipe: %+v", tcp)
	}
	if tcp := riftrelay.TCPInfoOf(nil); tcp.Tells() {
		t.Errorf("of nothing: %+v", tcp)
	}
}

func BenchmarkTCPInfo(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	b.ReportAllocs()
	for b.Loop() {
		riftrelay.TCPInfoOf(conn)
	}
}
