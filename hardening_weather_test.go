package riftrelay_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"riftrelay"
)

// Weather that only connections have: over real sockets, HTTP/1.1 and HTTP/2.

// weather is an upstream over TLS and HTTP/2, and a client of it.
type weather struct {
	client  *http.Client
	limiter *riftrelay.Limiter
	base    *http.Transport
	server  *httptest.Server
	counting
}

func newWeather(t *testing.T, h http.HandlerFunc) *weather {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	w := &weather{server: server}
	l, err := riftrelay.New(riftrelay.Config{Table: table, Pacing: riftrelay.PacingBurst, Keys: []riftrelay.Key{{Value: oneKey}}, Hooks: hooksOf(&w.counting)})
	if err != nil {
		t.Fatal(err)
	}
	w.limiter = l
	// The certificate is for example.com: dial the server, ask for that name.
	w.base = riftrelay.NewBase(riftrelay.BaseOptions{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs})
	w.base.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	t.Cleanup(func() { l.Close(); w.base.CloseIdleConnections() })
	w.client = &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: w.base, Upstream: "https://example.com", Timeout: 10 * time.Second}}
	return w
}

func limitsOfHundred(w http.ResponseWriter) {
	w.Header().Set("X-App-Rate-Limit", "1000:60")
	w.Header().Set("X-Method-Rate-Limit", "1000:60")
}

// GOAWAY: the server ends its connections now and then, in the middle of
// others' calls. Nobody notices, and nothing is sent without admission.
func TestGoAway(t *testing.T) {
	var received, ended atomic.Int64
	w := newWeather(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("over %s", r.Proto)
		}
		limitsOfHundred(w)
		if received.Add(1)%10 == 0 {
			w.Header().Set("Connection", "close") // GOAWAY, says net/http
			ended.Add(1)
		}
	})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range 20 {
				if err := get(t.Context(), w.client, byPUUID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := received.Load(); n != 200 || w.admissions.Load() < n || ended.Load() < 10 {
		t.Errorf("%d calls received in %d admissions, %d times GOAWAY", n, w.admissions.Load(), ended.Load())
	}
	if n := w.limiter.Snapshot().InFlight; n != 0 {
		t.Errorf("%d in flight", n)
	}
}

// A stream that is reset costs its own call and no other on the connection, and
// a POST is not sent again.
func TestStreamReset(t *testing.T) {
	var gets, posts atomic.Int64
	w := newWeather(t, func(w http.ResponseWriter, r *http.Request) {
		limitsOfHundred(w)
		if r.Method == http.MethodPost {
			posts.Add(1)
			panic(http.ErrAbortHandler) // RST_STREAM
		}
		if gets.Add(1)%5 == 0 {
			panic(http.ErrAbortHandler)
		}
	})
	var failed atomic.Int64
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range 10 {
				if err := get(t.Context(), w.client, byPUUID); err != nil {
					failed.Add(1)
				}
			}
			if _, _, err := call(t.Context(), w.client, http.MethodPost, tournament, "{}"); err == nil {
				t.Error("a stream that was reset has an answer")
			}
		})
	}
	all.Wait()
	if gets.Load() != 100 || failed.Load() != 20 || posts.Load() != 10 {
		t.Errorf("%d GETs received of 100, %d failed; %d POSTs received of 10", gets.Load(), failed.Load(), posts.Load())
	}
	if n := w.limiter.Snapshot().InFlight; n != 0 {
		t.Errorf("%d in flight", n)
	}
}

// silence is a network between client and server in which packets can get lost
// from a moment on, as when a router forgets a connection: nothing arrives
// then, and nobody is told.
type silence struct {
	mu    sync.Mutex
	conns []*muted
}

type muted struct {
	net.Conn
	gone   atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (s *silence) wrap(c net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	m := &muted{Conn: c, closed: make(chan struct{})}
	s.mu.Lock()
	s.conns = append(s.conns, m)
	s.mu.Unlock()
	return m, nil
}

// fall makes all connections of now half-open.
func (s *silence) fall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.gone.Store(true)
	}
}

func (m *muted) Write(p []byte) (int, error) {
	if m.gone.Load() {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

func (m *muted) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if m.gone.Load() {
		<-m.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (m *muted) Close() error {
	m.once.Do(func() { close(m.closed) })
	return m.Conn.Close()
}

// A half-open connection: the call on it times out, and those after it soon go
// on another one.
func TestHalfOpen(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			w := newWeather(t, func(w http.ResponseWriter, r *http.Request) {
				limitsOfHundred(w)
				w.Header().Set("X-Proto", r.Proto)
			})
			var quiet silence
			dial := w.base.DialContext
			w.base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				return quiet.wrap(dial(ctx, network, addr))
			}
			if proto == "HTTP/1.1" {
				w.base.Protocols = new(http.Protocols)
				w.base.Protocols.SetHTTP1(true)
			}
			w.base.HTTP2.SendPingTimeout, w.base.HTTP2.PingTimeout = 100*time.Millisecond, 100*time.Millisecond // for 10 s each
			rt := w.client.Transport.(*riftrelay.Transport)
			rt.Timeout = time.Second
			resp, _, err := call(t.Context(), w.client, http.MethodGet, byPUUID, "")
			if err != nil || resp.Header.Get("X-Proto") != proto {
				t.Fatalf("%v, %v", resp, err)
			}
			quiet.fall()
			begin := time.Now()
			if err := get(t.Context(), w.client, byPUUID); err == nil {
				t.Error("a call on a dead connection was answered")
			} else if proto == "HTTP/1.1" && !errors.Is(err, riftrelay.ErrUpstreamTimeout) {
				t.Error(err)
			}
			for {
				if get(t.Context(), w.client, byPUUID) == nil {
					break
				}
				if time.Since(begin) > 10*time.Second {
					t.Fatal("calls go on a dead connection still")
				}
			}
			if n := w.limiter.Snapshot().InFlight; n != 0 {
				t.Errorf("%d in flight", n)
			}
		})
	}
}

// Riot's address changes: the old server goes, the name leads to another one.
func TestAddressChanges(t *testing.T) {
	answer := func(who string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			limitsOfHundred(w)
			w.Header().Set("X-Who", who)
		}
	}
	first, second := httptest.NewServer(answer("first")), httptest.NewServer(answer("second"))
	t.Cleanup(second.Close)
	var at atomic.Pointer[string]
	lead := func(s *httptest.Server) { a := s.Listener.Addr().String(); at.Store(&a) }
	lead(first)

	l, err := riftrelay.New(riftrelay.Config{Table: table, Pacing: riftrelay.PacingBurst, Keys: []riftrelay.Key{{Value: oneKey}}})
	if err != nil {
		t.Fatal(err)
	}
	base := riftrelay.NewBase(riftrelay.BaseOptions{})
	base.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, *at.Load())
	}
	t.Cleanup(func() { l.Close(); base.CloseIdleConnections() })
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: base, Upstream: "http://riot.example"}}
	who := func() string {
		resp, _, err := call(t.Context(), client, http.MethodGet, byPUUID, "")
		if err != nil {
			t.Fatal(err)
		}
		return resp.Header.Get("X-Who")
	}
	if got := who(); got != "first" {
		t.Errorf("answered by %s", got)
	}
	lead(second)
	first.CloseClientConnections()
	first.Close()
	for range 3 {
		if got := who(); got != "second" {
			t.Errorf("answered by %s after the change", got)
		}
	}
	if n := l.Snapshot().InFlight; n != 0 {
		t.Errorf("%d in flight", n)
	}
}
