//go:build unix

package daemon

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"riftrelay/riotsim"
)

// heldStreams are requests over HTTP/2 that are answered without their bodies,
// which never end, and the status of each.
var heldStreams = []struct {
	verb, path string
	headers    []string
	status     string
}{
	{"POST", "/americas/lol/no", []string{"x-relay-token", "a-token-of-the-test"}, "404"},
	{"POST", "/americas/lol/tournament/v5/codes", nil, "401"},
	{"GET", status, []string{"x-relay-token", "a-token-of-the-test"}, "400"},
	{"POST", "/americas/lol/tournament/v5/codes", []string{"sec-fetch-site", "cross-site"}, "403"},
	{"POST", "/americas/lol/tournament/v5/codes", []string{"x-relay-token", "a-token-of-the-test", "x-max-wait", "x"}, "400"},
	{"TRACE", status, []string{"x-relay-token", "a-token-of-the-test"}, "405"},
	{"GET", "/", nil, "200"},
	{"GET", "/healthz", nil, "204"},
	{"POST", "/readyz", nil, "405"},
	{"GET", "/swagger/", nil, "200"},
}

// heldOverHTTP2 sends all of heldStreams on one connection, and more of their
// bodies until the connection ends. It tells got how each stream was answered and
// when it ended, by its number from 0.
func heldOverHTTP2(t *testing.T, address string, trusted *x509.CertPool, got func(stream int, status string, ended bool)) (hangUp func()) {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: trusted, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(conn, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var mu sync.Mutex // of writing
	_, _ = io.WriteString(conn, http2.ClientPreface)
	_ = f.WriteSettings()
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i, s := range heldStreams {
		block.Reset()
		for _, h := range [][2]string{{":method", s.verb}, {":scheme", "https"}, {":authority", address}, {":path", s.path}} {
			_ = enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
		}
		for j := 0; j < len(s.headers); j += 2 {
			_ = enc.WriteField(hpack.HeaderField{Name: s.headers[j], Value: s.headers[j+1]})
		}
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
	}
	var busy sync.WaitGroup
	busy.Go(func() {
		for {
			mu.Lock()
			for i := range heldStreams {
				if err := f.WriteData(uint32(2*i+1), false, []byte("x")); err != nil {
					mu.Unlock()
					return
				}
			}
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
		}
	})
	busy.Go(func() {
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			stream := int(frame.Header().StreamID-1) / 2
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if !frame.IsAck() {
					mu.Lock()
					_ = f.WriteSettingsAck()
					mu.Unlock()
				}
			case *http2.MetaHeadersFrame:
				got(stream, frame.PseudoValue("status"), frame.StreamEnded())
			case *http2.DataFrame:
				got(stream, "", frame.StreamEnded())
			case *http2.RSTStreamFrame:
				got(stream, "", true)
			}
		}
	})
	return func() { conn.Close(); busy.Wait() }
}

// Over HTTP/2 too, what is answered without its body is answered at once, and its
// stream ends. It holds up no other request, and no stop.
func TestUnreadBodiesOverHTTP2(t *testing.T) {
	edge, upstream := startEdge(t, riotsim.Config{})
	file := filepath.Join(t.TempDir(), "relay.pem")
	trusted := x509.NewCertPool()
	trusted.AddCert(certFile(t, file, 1))
	p := startProgram(t, upstream, ":", "CLIENT_TOKENS=web=a-token-of-the-test", "SHUTDOWN_TIMEOUT=20s", "TLS_CERT_FILE="+file, "TLS_KEY_FILE="+file)
	address := strings.TrimPrefix(p.front, "http://")
	begin := time.Now()
	var mu sync.Mutex
	answered, ended := make([]string, len(heldStreams)), make([]bool, len(heldStreams))
	left := len(heldStreams)
	done := make(chan struct{})
	hangUp := heldOverHTTP2(t, address, trusted, func(stream int, status string, end bool) {
		mu.Lock()
		defer mu.Unlock()
		if status != "" {
			answered[stream] = status
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("%v: answered after %v", heldStreams[stream], took)
			}
		}
		if end && !ended[stream] {
			ended[stream] = true
			if left--; left == 0 {
				close(done)
			}
		}
	})
	defer hangUp()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("streams are open after 5 s")
	}
	mu.Lock()
	for i, s := range heldStreams {
		if answered[i] != s.status || !ended[i] {
			t.Errorf("%s %s %v: answered %q, ended %v; want %s", s.verb, s.path, s.headers, answered[i], ended[i], s.status)
		}
	}
	mu.Unlock()
	if n := edge.Report().Arrived; n != 0 {
		t.Errorf("%d calls arrived", n)
	}
	for range 5 { // more, which are there when the stop comes
		t.Cleanup(heldOverHTTP2(t, address, trusted, func(int, string, bool) {}))
	}
	begin = time.Now()
	if err := p.stop(t); err != nil || time.Since(begin) > 5*time.Second { // of the 20 that it may take
		t.Errorf("the stop: %v after %v\n%s", err, time.Since(begin), p.said(t))
	}
}
