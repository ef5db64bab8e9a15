package riftrelay

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stallingConn holds up what is written to it, as a machine does that has no
// time for its writer.
type stallingConn struct {
	net.Conn
	by time.Duration
}

func (c stallingConn) Write(p []byte) (int, error) {
	time.Sleep(c.by)
	return c.Conn.Write(p)
}

// TestSentWhenItHasLeft: Riot counts a call when it has left, not when it is in
// net/http's buffer.
func TestSentWhenItHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stall, margin = 300 * time.Millisecond, 50 * time.Millisecond
		l, err := New(Config{Keys: []Key{{Value: "RGAPI-x"}}, DefaultAppLimit: "1:1", Margin: margin, MaxMargin: margin})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var mu sync.Mutex
		var arrived []time.Time
		base := &http.Transport{DisableKeepAlives: true, DialContext: dialer(func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			mu.Lock()
			n := len(arrived)
			mu.Unlock()
			go func() {
				defer theirs.Close()
				if _, err := http.ReadRequest(bufio.NewReader(theirs)); err != nil {
					return
				}
				mu.Lock()
				arrived = append(arrived, time.Now())
				second := len(arrived) > 1
				mu.Unlock()
				if !second { // tells the limit
					theirs.Write([]byte("HTTP/1.1 200 OK\r\nX-App-Rate-Limit: 1:1\r\nX-App-Rate-Limit-Count: 1:1\r\nX-Method-Rate-Limit: 100:1\r\nX-Method-Rate-Limit-Count: 1:1\r\nContent-Length: 0\r\n\r\n"))
					return
				}
				io.Copy(io.Discard, theirs) // no answer
			}()
			if n == 1 {
				return stallingConn{ours, stall}, nil
			}
			return ours, nil
		})}
		client := &http.Client{Transport: &Transport{Limiter: l, Base: base, Upstream: "http://riot.test"}}
		get := func(ctx context.Context) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/euw1/lol/status/v4/platform-data", http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			if resp, err := client.Do(req); err == nil {
				resp.Body.Close()
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		get(ctx)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { get(ctx) })
		}
		all.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(arrived) != 4 {
			t.Fatalf("%d calls arrived, want 4", len(arrived))
		}
		for i := 1; i < len(arrived); i++ {
			if d := arrived[i].Sub(arrived[i-1]); d < time.Second {
				t.Errorf("calls %d and %d arrived within %v; 1:1 allows one a second", i-1, i, d)
			}
		}
	})
}
