package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// keysOf returns the names of n keys.
func keysOf(n int) func() []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("key", i)
	}
	return func() []string { return names }
}

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// upstream is an edge that speaks bytes: it records the head and the body of
// each request, and answers with whatever bytes the test wants.
type upstream struct {
	address string
	answer  func(net.Conn, *http.Request)

	mu     sync.Mutex
	heads  []string
	bodies []string
}

const plainAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: x\r\nContent-Length: 2\r\n\r\n{}"

func say(bytes string) func(net.Conn, *http.Request) {
	return func(c net.Conn, _ *http.Request) { io.WriteString(c, bytes) }
}

func newUpstream(t testing.TB, answer func(net.Conn, *http.Request)) *upstream {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{address: l.Addr().String(), answer: answer}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { u.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return u
}

// serve reads one request a connection, so that a test says what comes after.
func (u *upstream) serve(c net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	var raw bytes.Buffer
	req, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c, &raw)))
	if err != nil {
		return
	}
	body, _ := io.ReadAll(req.Body)
	head, _, _ := strings.Cut(raw.String(), "\r\n\r\n")
	u.mu.Lock()
	u.heads, u.bodies = append(u.heads, head), append(u.bodies, string(body))
	u.mu.Unlock()
	u.answer(c, req)
}

// last returns the head of the one request that must have come.
func (u *upstream) last(t testing.TB) string {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.heads) != 1 {
		t.Fatalf("upstream got %d requests, want 1: %q", len(u.heads), u.heads)
	}
	return u.heads[0]
}

// edgeTransport routes like riftrelay.Transport, then dials the upstream, with
// the exact path and the Host header that it was given.
type edgeTransport struct {
	table *route.Table
	to    string
	base  *http.Transport
}

func (e *edgeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := e.table.Match(r.Method, strings.TrimSuffix(r.URL.Host, ".api.riotgames.com"), r.URL.Opaque)
	if err != nil {
		return nil, &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidRoute, Err: err}
	}
	out := *r
	u := *r.URL
	u.Scheme, u.Host = "http", e.to
	out.URL = &u
	res, err := e.base.RoundTrip(&out)
	if err == nil {
		res.Header.Set("X-Riftrelay-Source", "riot")
		res.Header.Set("X-Riftrelay-Key", "key0")
	}
	return res, err
}

func viaUpstream(t testing.TB, u *upstream) http.RoundTripper {
	base := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	t.Cleanup(base.CloseIdleConnections)
	return &edgeTransport{table(t), u.address, base}
}

var table = func() func(testing.TB) *route.Table {
	build := sync.OnceValue(route.Default)
	return func(testing.TB) *route.Table { return build() }
}()

// seen is an Observer that remembers.
type seen struct {
	mu                  sync.Mutex
	started             int
	done                []string // "status source bucket"
	refused             []riftrelay.Reason
	clients, deprecated []string
	ended               chan struct{}
}

func newSeen() *seen { return &seen{ended: make(chan struct{}, 1000)} }

func (s *seen) Started(route.Route, riftrelay.Priority) { s.mu.Lock(); s.started++; s.mu.Unlock() }

func (s *seen) ClientDone(name string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, name+" "+http.StatusText(status))
}

func (s *seen) Deprecated(m *route.Method, end time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deprecated = append(s.deprecated, m.String()+" "+end.Format(time.DateOnly))
}

func (s *seen) Done(r route.Route, _ riftrelay.Priority, status int, source string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bucket := "-"
	if r.Method != nil {
		bucket = r.String()
	}
	s.done = append(s.done, strings.Join([]string{http.StatusText(status), source, bucket}, " "))
	if status == StatusClientGone {
		s.done[len(s.done)-1] = "499 " + source + " " + bucket
	}
	s.ended <- struct{}{}
}

func (s *seen) Refused(r riftrelay.Reason) {
	s.mu.Lock()
	s.refused = append(s.refused, r)
	s.mu.Unlock()
}

// serve starts the relay on loopback and returns its address.
func serve(t testing.TB, o Options) string {
	t.Helper()
	if o.Table == nil {
		o.Table = table(t)
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.Start()
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// sendRaw writes the bytes of one request and reads all of the answer's.
func sendRaw(t testing.TB, address, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, request)
	got, err := io.ReadAll(c)
	if err != nil && len(got) == 0 {
		return "" // reset
	}
	return string(got)
}

// get makes a raw GET with extra header lines.
func get(target string, lines ...string) string {
	return request("GET", target, "", lines...)
}

func request(verb, target, body string, lines ...string) string {
	all := append([]string{verb + " " + target + " HTTP/1.1", "Host: relay.test", "Connection: close"}, lines...)
	return strings.Join(all, "\r\n") + "\r\n\r\n" + body
}

const status = "/euw1/lol/status/v4/platform-data"

// parse reads a raw answer.
func parse(t testing.TB, raw string) (*http.Response, string) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil)
	if err != nil {
		t.Fatalf("no answer: %v in %q", err, raw)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("body: %v in %q", err, raw)
	}
	return res, string(body)
}
