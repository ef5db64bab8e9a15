package riotsim

import (
	"bytes"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"riftrelay/route"
)

// TB is the part of testing.TB that a TestServer needs, so that a program which imports this package
// doesn't link package testing. A *testing.T is one.
type TB interface {
	// Helper is that of testing.TB.
	Helper()
	// Errorf is that of testing.TB.
	Errorf(format string, args ...any)
	// Fatalf is that of testing.TB: it doesn't return.
	Fatalf(format string, args ...any)
	// Cleanup is that of testing.TB.
	Cleanup(f func())
}

// TestServer is an Edge for the test of a program that calls Riot. The program reaches it without
// sockets, by Client or RoundTripper, or over a loopback socket, at URL. It keeps every arrival and
// every request, and is closed when its test ends.
type TestServer struct {
	*Edge
	t   TB
	url func() string
}

// NewServer starts a server for a test. Options are applied in turn to the Config of a development
// key whose logs are complete (Arrivals and Requests are -1). A wrong setting ends the test.
func NewServer(t TB, options ...func(*Config)) *TestServer {
	t.Helper()
	cfg := Config{Arrivals: -1, Requests: -1}
	for _, o := range options {
		o(&cfg)
	}
	edge, err := New(cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	s := &TestServer{Edge: edge, t: t}
	s.url = sync.OnceValue(s.listen)
	t.Cleanup(edge.Close)
	return s
}

// DevKey is an option for NewServer: every non-empty key has the limits of a development or personal
// key, 20 calls in 1 s and 100 in 120 s on each host (R16). It is what NewServer does without options.
func DevKey(c *Config) { AppLimit(Development)(c) }

// ProductionKey is an option for NewServer: every non-empty key has the limits of a production key
// at first, 500 calls in 10 s and 30 000 in 600 s on each host (R16).
func ProductionKey(c *Config) { AppLimit(Production)(c) }

// AppLimit is an option for NewServer: every key has this application limit on each host, such as
// "20:1,100:120" or NoLimit.
func AppLimit(limit string) func(*Config) {
	return func(c *Config) { c.AppLimits = append(c.AppLimits, Rule{Limit: limit}) }
}

// MethodLimit is an option for NewServer: a method (see Rule.Method; "" = every method) has this
// limit on each host, instead of the one seen in reality.
func MethodLimit(method, limit string) func(*Config) {
	return func(c *Config) { c.MethodLimits = append(c.MethodLimits, Rule{Method: method, Limit: limit}) }
}

// Client returns a client whose every request goes to the server, wherever its URL points: to
// "https://euw1.api.riotgames.com/lol/…" as well as to "http://riot/euw1/lol/…". It has no sockets
// and no goroutines, so it also works in a testing/synctest bubble. What it sends needs a key, in
// X-Riot-Token. RoundTripper is the same for a transport of your own, such as riftrelay.Transport.Base.
func (s *TestServer) Client() *http.Client { return &http.Client{Transport: s.RoundTripper()} }

// URL returns "http://127.0.0.1:port", for programs that are told where Riot is. The host is named by
// the path, URL + "/euw1/lol/…", or by the Host header, as riftrelay.Transport.Upstream and UPSTREAM_URL
// do. The first call opens the socket. In a testing/synctest bubble, whose clock no socket moves, URL
// ends the test.
func (s *TestServer) URL() string {
	s.t.Helper()
	return s.url()
}

func (s *TestServer) listen() string {
	s.t.Helper()
	if inBubble() {
		s.t.Fatalf("riotsim: TestServer.URL in a synctest bubble: time would never pass there; use TestServer.Client or TestServer.RoundTripper, which need no socket")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatalf("riotsim: can't listen on a free port of 127.0.0.1: %v", err)
	}
	go func() {
		if err := s.Serve(l); err != nil {
			s.t.Errorf("riotsim: %v", err)
		}
	}()
	return "http://" + l.Addr().String()
}

// inBubble tells whether it is called in a testing/synctest bubble. Only the trace of a goroutine
// says so; if that changed, a test that would now end with a reason would hang instead.
func inBubble() bool {
	trace := make([]byte, 128)
	first, _, _ := bytes.Cut(trace[:runtime.Stack(trace, false)], []byte("\n"))
	return bytes.Contains(first, []byte("synctest bubble"))
}

// UseElsewhere lets n calls arrive now that another program makes with the same key: they use up
// limits as the tested program's do, who sees them in the counts of its next answer. They meet no
// faults, and only Totals.Others and the windows count them.
func (s *TestServer) UseElsewhere(key, host, method string, n int) {
	s.t.Helper()
	if method == "" {
		s.t.Fatalf("riotsim: UseElsewhere: no method; want one such as match-v5 or /lol/status/v4/platform-data")
	}
	s.mustSelect(s.t, method)
	methods := s.table().Methods()
	m := methods[slices.IndexFunc(methods, func(m *route.Method) bool { return selectsMethod(method, m) })]
	for range n {
		if a := s.Arrive(time.Now(), Call{Key: key, Host: host, Method: m, other: true}); !a.Counted {
			s.t.Fatalf("riotsim: UseElsewhere: the key %s isn't known: it gets %d", last4(key), a.Status)
		}
	}
}

// mustSelect ends the test if a method's name selects nothing.
func (s *TestServer) mustSelect(t TB, method string) {
	t.Helper()
	if err := s.checkMethod(method); err != nil {
		t.Fatalf("riotsim: %v", err)
	}
}

// last4 is how much of a key people get to see.
func last4(key string) string { return "…" + key[max(0, len(key)-4):] }

// scopeName names a budget for people.
func scopeName(kind Kind, key, host, method string) string {
	parts := []string{kind.String(), host}
	if key != "" {
		parts = append(parts, last4(key))
	}
	if method != "" {
		parts = append(parts, method)
	}
	return strings.Join(parts, " ")
}
