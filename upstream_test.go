package riftrelay_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// fault does what it wants with the bytes of an answer, and reports whether the
// connection is of use after that.
type fault func(c net.Conn, answer []byte) (usable bool)

// badWeather is an upstream whose answers pass through a fault. The
// edge behind it counts each request that came whole, whatever becomes of its
// answer.
type badWeather struct {
	edge     *riotsim.Edge
	listener net.Listener
	fault    atomic.Pointer[fault]
	strikes  atomic.Int64
	busy     sync.WaitGroup
}

func newBadWeather(t *testing.T, edge *riotsim.Edge, l net.Listener) *badWeather {
	t.Helper()
	w := &badWeather{edge: edge, listener: l}
	w.busy.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(t.Context(), func() { conn.Close() })
			w.busy.Go(func() { defer stop(); w.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); w.busy.Wait() })
	return w
}

func (w *badWeather) serve(conn net.Conn) {
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		w.edge.ServeHTTP(rec, r)
		answer := rec.Result()
		answer.ContentLength = int64(rec.Body.Len())
		var raw bytes.Buffer
		_ = answer.Write(&raw)
		f := w.fault.Load()
		if f == nil {
			if _, err := conn.Write(raw.Bytes()); err != nil {
				return
			}
			continue
		}
		w.strikes.Add(1)
		if !(*f)(conn, raw.Bytes()) {
			return
		}
	}
}

func reset(c net.Conn) bool {
	_ = c.(interface{ SetLinger(int) error }).SetLinger(0)
	return false
}

// upTo returns the first bytes of an answer, as far as the middle of its head, or
// of its body.
func upTo(answer []byte, body bool) []byte {
	end := bytes.Index(answer, []byte("\r\n\r\n")) + 4
	if body {
		return answer[:(end+len(answer))/2]
	}
	return answer[:end/2]
}

func instead(answer string) fault {
	return func(c net.Conn, _ []byte) bool {
		_, err := io.WriteString(c, answer)
		return err == nil
	}
}

func page(status int) string {
	const html = "<html><body>bad gateway</body></html>"
	return fmt.Sprintf("HTTP/1.1 %d x\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", status, len(html), html)
}

func pass(c net.Conn, answer []byte) bool {
	_, err := c.Write(answer)
	return err == nil
}

// trickle writes one byte after the other until the peer has enough of it.
func trickle(c net.Conn, b []byte, every time.Duration) bool {
	for i := range b {
		time.Sleep(every)
		if _, err := c.Write(b[i : i+1]); err != nil {
			return false
		}
	}
	return true
}
