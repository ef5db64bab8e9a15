//go:build unix

package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// heldRequests are answered without their bodies, which never come.
func heldRequests() map[string]string {
	const head = " HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	held := map[string]string{}
	for name, line := range map[string]string{
		"unknown path":  "POST /americas/lol/no" + head + "X-Relay-Token: a-token-of-the-test\r\n",
		"no token":      "POST /americas/lol/tournament/v5/codes" + head,
		"body of a GET": "GET " + status + head + "X-Relay-Token: a-token-of-the-test\r\n",
		"cross origin":  "POST /americas/lol/tournament/v5/codes" + head + "Sec-Fetch-Site: cross-site\r\n",
		"control":       "POST /americas/lol/tournament/v5/codes" + head + "X-Relay-Token: a-token-of-the-test\r\nX-Max-Wait: x\r\n",
		"TRACE":         "TRACE " + status + head,
		"page":          "GET /" + head,
		"health":        "GET /healthz" + head,
		"readiness":     "POST /readyz" + head,
		"explorer":      "GET /swagger/" + head,
	} {
		held[name+", length"] = line + "Content-Length: 10\r\n\r\n"
		held[name+", part of it"] = line + "Content-Length: 10\r\n\r\n12345"
		if name != "body of a GET" {
			held[name+", chunks"] = line + "Transfer-Encoding: chunked\r\n\r\n"
		}
		held[name+", Expect"] = line + "Content-Length: 10\r\nExpect: 100-continue\r\n\r\n"
	}
	return held
}

// answeredAndClosed reads what there is until the relay closes.
func answeredAndClosed(t *testing.T, name string, c net.Conn) {
	t.Helper()
	begin := time.Now()
	c.SetReadDeadline(begin.Add(8 * time.Second))
	first := make([]byte, len("HTTP/1.1 200"))
	_, err := io.ReadFull(c, first)
	if took := time.Since(begin); err != nil || !strings.HasPrefix(string(first), "HTTP/1.1 ") || took > 2*time.Second {
		t.Errorf("%s: %q, %v after %v; want an answer at once", name, first, err, took)
	}
	rest, _ := io.ReadAll(c)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("%s: open after %v; %.200q", name, took, rest)
	}
}

// What is refused, and what isn't a call, is answered at once whether or not its
// body comes, and the connection ends. It holds up no stop.
func TestUnreadBodies(t *testing.T) {
	edge, upstream := startEdge(t, riotsim.Config{})
	p := startProgram(t, upstream, ":", "CLIENT_TOKENS=web=a-token-of-the-test", "SHUTDOWN_TIMEOUT=20s")
	dial := func(base, request string) net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		return c
	}
	var all sync.WaitGroup
	for name, request := range heldRequests() {
		c := dial(p.front, request)
		all.Go(func() { answeredAndClosed(t, name, c) })
	}
	for _, path := range []string{"/", "/healthz", "/api/v1/state", "/metrics", "/nothing"} {
		for _, verb := range []string{"GET", "POST"} {
			c := dial(p.admin, verb+" "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n")
			all.Go(func() { answeredAndClosed(t, "admin "+verb+" "+path, c) })
		}
	}
	all.Wait()
	if n := edge.Report().Arrived; n != 0 {
		t.Errorf("%d calls arrived", n)
	}
	for _, request := range heldRequests() {
		dial(p.front, request)
	}
	dial(p.front, "")
	dial(p.front, "GET / HT")
	dial(p.admin, "POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n")
	eventually(t, "all are connected", func() bool {
		c := dial(p.front, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
		b, _ := io.ReadAll(c)
		return strings.HasPrefix(string(b), "HTTP/1.1 204")
	})
	begin := time.Now()
	if err := p.stop(t); err != nil || time.Since(begin) > 5*time.Second { // of the 20 that it may take
		t.Errorf("the stop: %v after %v\n%s", err, time.Since(begin), p.said(t))
	}
}

// lateness watches how late this process gets to run. It returns a function that
// ends that, and returns the longest delay.
func lateness() func() time.Duration {
	const pause = 5 * time.Millisecond
	ended, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		var late time.Duration
		for {
			begin := time.Now()
			select {
			case <-ended:
				longest <- max(late, time.Since(begin)-pause)
				return
			case <-time.After(pause):
				late = max(late, time.Since(begin)-pause)
			}
		}
	}()
	return func() time.Duration { close(ended); return <-longest }
}

// heldCrowd is how many connections others hold. Each costs many times as much
// under the race detector.
func heldCrowd() int {
	if raceEnabled {
		return 600
	}
	return 2000
}

// holdConnections has a crowd connect, each of which sends one of texts and then
// nothing, and comes again as soon as it is thrown out.
func holdConnections(t *testing.T, p *program, texts []string) (leave func()) {
	t.Helper()
	if need := heldCrowd() + 500; openFiles() < need {
		t.Fatalf("%d descriptors; this test needs %d", openFiles(), need)
	}
	end := make(chan struct{})
	var all sync.WaitGroup
	for i := range heldCrowd() {
		all.Go(func() {
			for {
				c, err := net.Dial("tcp", strings.TrimPrefix(p.front, "http://"))
				if err == nil {
					io.WriteString(c, texts[i%len(texts)])
					go func() { <-end; c.Close() }()
					io.Copy(io.Discard, c)
					c.Close()
				}
				select {
				case <-end:
					return
				case <-time.After(time.Second):
				}
			}
		})
	}
	return func() { close(end); all.Wait() }
}

// mustServePolitely fails the test unless a client that opens a connection for
// each request is served within a second, while others hold all connections. On a
// machine that is busy with other things it is served, only later.
func mustServePolitely(t *testing.T, p *program, front string, client *http.Client) {
	t.Helper()
	ask := func(url string) (string, time.Duration) {
		begin := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Relay-Token", "a-token-of-the-test")
		resp, err := client.Do(req)
		if err != nil {
			return err.Error(), time.Since(begin)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(b)), time.Since(begin)
	}
	eventually(t, "a full house in the log", func() bool { return strings.Contains(p.said(t), "no room for another connection") })
	if said, _ := ask(p.admin + "/metrics"); !strings.Contains(said, `riftrelay_connections{listener="relay",state="active"} `) || strings.Contains(said, `riftrelay_connections_closed_total{listener="relay"} 0`) {
		t.Errorf("the metrics don't tell of closed connections: %.500s", said)
	}
	if c := p.state(t, client).Connections; len(c) != 2 || c[0].Listener != "relay" || c[0].Full == nil || c[0].Closed == 0 || c[1].Full != nil {
		t.Errorf("the state says of connections: %+v", c)
	}
	var times []time.Duration
	for range 20 {
		for _, path := range []string{status, "/healthz"} {
			end := lateness()
			said, took := ask(front + path)
			late := end()
			times = append(times, took)
			if !strings.HasPrefix(said, "20") || took > time.Second+100*late {
				t.Errorf("%s: %.100s after %v", path, said, took)
			}
		}
		time.Sleep(100 * time.Millisecond) // over the bursts in which the others come back
	}
	slices.Sort(times)
	t.Logf("beside %d held connections a request takes %v at the median and %v at most", heldCrowd(), times[len(times)/2], times[len(times)-1])
}

// Two thousand such connections and idle ones, with 1,024 descriptors: another
// client is served within a second, and log, metrics and state say that it's full.
func TestHeldConnections(t *testing.T) {
	_, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Large}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}})
	p := startProgram(t, upstream, "ulimit -n 1024", "CLIENT_TOKENS=web=a-token-of-the-test")
	requests := []string{"", "GET / HTTP/1.1\r\nHost: a"} // and those that are silent, or half of a head
	for _, request := range heldRequests() {
		requests = append(requests, request)
	}
	defer holdConnections(t, p, requests)()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	mustServePolitely(t, p, p.front, client)
}

// So it is where TLS is spoken and nobody of the crowd ends its handshake: some are
// silent, some have sent a part of their first message, and some all of it.
func TestHeldHandshakes(t *testing.T) {
	_, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Large}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}})
	file := filepath.Join(t.TempDir(), "relay.pem")
	trusted := x509.NewCertPool()
	trusted.AddCert(certFile(t, file, 1))
	p := startProgram(t, upstream, "ulimit -n 1024", "CLIENT_TOKENS=web=a-token-of-the-test", "TLS_CERT_FILE="+file, "TLS_KEY_FILE="+file)
	hello := clientHello(t)
	defer holdConnections(t, p, []string{"", hello[:1], hello[:5], hello[:len(hello)/2], hello, hello + hello[:3]})()
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trusted}}
	mustServePolitely(t, p, strings.Replace(p.front, "http:", "https:", 1), &http.Client{Transport: transport, Timeout: 10 * time.Second})
}

// clientHello returns the first message of a handshake.
func clientHello(t *testing.T) string {
	t.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: "relay.example"}).Handshake() // which is cut off
		client.Close()
	}()
	message := make([]byte, 4096)
	n, err := server.Read(message)
	if err != nil || n < 100 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	return string(message[:n])
}
