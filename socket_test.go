package riftrelay_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// overSockets serves handler on loopback and returns a client of it.
func overSockets(t *testing.T, handler http.Handler, cfg riftrelay.Config) *http.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	cfg.Table = table
	cfg.Keys = []riftrelay.Key{{Value: oneKey}}
	l, err := riftrelay.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	base := riftrelay.NewBase(riftrelay.BaseOptions{})
	t.Cleanup(func() { l.Close(); base.CloseIdleConnections() })
	return &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: base, Upstream: server.URL, Timeout: 10 * time.Second}}
}

// 200 calls at once to a method of which nothing is known: one tells the
// limits, then the others go.
func TestColdStart(t *testing.T) {
	edge, err := riotsim.New(riotsim.Config{
		AppLimits: []riotsim.Rule{{Limit: "150:1"}}, MethodLimits: []riotsim.Rule{{Limit: "100:1"}},
		Table: table, Body: riotsim.Tiny, Latency: riotsim.Latency{Up: 5 * time.Millisecond, Down: 5 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := overSockets(t, edge, riftrelay.Config{Pacing: riftrelay.PacingBurst})
	var wg sync.WaitGroup
	begin := time.Now()
	for range 200 {
		wg.Go(func() {
			if err := get(t.Context(), client, byPUUID); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	r := edge.Report()
	if r.Violations > 1 || r.Accepted != 200 {
		t.Errorf("%d own 429s, %d accepted", r.Violations, r.Accepted)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("served after %v: one by one?", took)
	}
}

// Ten calls at once on an idle key, unpaced: done in one round trip.
func TestInteractiveBurst(t *testing.T) {
	const roundTrip = 100 * time.Millisecond
	edge, err := riotsim.New(riotsim.Config{Table: table, Body: riotsim.Tiny, Latency: riotsim.Latency{Up: roundTrip / 2, Down: roundTrip / 2}})
	if err != nil {
		t.Fatal(err)
	}
	client := overSockets(t, edge, riftrelay.Config{Pacing: riftrelay.PacingBurst})
	if err := get(t.Context(), client, byPUUID); err != nil { // learns the limits
		t.Fatal(err)
	}
	begin := time.Now()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := get(t.Context(), client, byPUUID); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(begin); took > 2*roundTrip {
		t.Errorf("ten calls took %v, a round trip is %v", took, roundTrip)
	}
	if n := edge.Report().Violations; n != 0 {
		t.Errorf("%d own 429s", n)
	}
}

// net/http sends a request again, unasked, on a connection that was kept and
// turns out dead. That must be another admission, not a second call on one
// charge.
func TestNoSendingWithoutAdmission(t *testing.T) {
	var received atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n := received.Add(1); n == 2 { // on the kept connection: cut without an answer
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
			return
		}
		w.Header().Set("X-App-Rate-Limit", "20:60")
		w.Header().Set("X-Method-Rate-Limit", "20:60")
	})
	admitted := &counting{}
	client := overSockets(t, handler, riftrelay.Config{Pacing: riftrelay.PacingBurst, Hooks: hooksOf(admitted)})
	for range 3 {
		if err := get(t.Context(), client, byPUUID); err != nil {
			t.Error(err)
		}
	}
	if got, want := admitted.admissions.Load(), received.Load(); got != want || want != 4 {
		t.Errorf("%d admissions for %d calls received, want 4", got, want)
	}
	if n := admitted.answers.Load(); n != 4 {
		t.Errorf("%d ends of tries, want 4", n)
	}
}

// The second sending that isn't admitted doesn't leave.
func TestSecondSendingIsRefused(t *testing.T) {
	var received atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if received.Add(1) == 2 {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
			return
		}
		w.Header().Set("X-App-Rate-Limit", "2:600")
	})
	client := overSockets(t, handler, riftrelay.Config{Pacing: riftrelay.PacingBurst})
	if err := get(t.Context(), client, byPUUID); err != nil {
		t.Fatal(err)
	}
	err := get(t.Context(), client, byPUUID)
	if rejected := (*riftrelay.RejectedError)(nil); err == nil || errors.As(err, &rejected) {
		t.Errorf("got %v, want that the connection was dead: nobody can say that nothing was sent", err)
	}
	if n := received.Load(); n != 2 {
		t.Errorf("%d calls received", n)
	}
}

// listener has methods for all hooks.
type listener interface {
	Admission(ctx context.Context, e riftrelay.AdmissionEvent)
	Answer(ctx context.Context, e riftrelay.AnswerEvent)
	Change(e riftrelay.ChangeEvent)
}

func hooksOf(l listener) riftrelay.Hooks {
	return riftrelay.Hooks{Admission: l.Admission, Answer: l.Answer, Change: l.Change}
}

// counting is hooks that count.
type counting struct{ admissions, answers, violations atomic.Int64 }

func (c *counting) Admission(_ context.Context, e riftrelay.AdmissionEvent) {
	if e.Outcome == riftrelay.OutcomeAdmitted {
		c.admissions.Add(1)
	}
}
func (c *counting) Change(riftrelay.ChangeEvent) {}
func (c *counting) Answer(_ context.Context, e riftrelay.AnswerEvent) {
	c.answers.Add(1)
	if e.Own {
		c.violations.Add(1)
	}
}

func TestUpstreamDown(t *testing.T) {
	client := overSockets(t, http.NotFoundHandler(), riftrelay.Config{Pacing: riftrelay.PacingBurst})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	rt := client.Transport.(*riftrelay.Transport)
	client.Transport = &riftrelay.Transport{Limiter: rt.Limiter, Upstream: "http://" + address}
	for range 3 {
		err := get(t.Context(), client, byPUUID)
		if op := (*net.OpError)(nil); !errors.As(err, &op) {
			t.Errorf("got %v", err)
		}
	}
	if s := rt.Limiter.Snapshot(); s.InFlight != 0 || s.Scopes[0].Windows[0].Used != 0 {
		t.Errorf("what was never sent was charged: %+v", s.Scopes[0])
	}
}

// Over HTTP/2, with redirects and compressed bodies as they come.
func TestPassesAnswersThrough(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/elsewhere") {
			http.Redirect(w, r, "https://example.org/", http.StatusFound)
			return
		}
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("Accept-Encoding %q was added", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Proto", r.Proto)
		io.WriteString(w, "\x1f\x8bnot really")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	l, err := riftrelay.New(riftrelay.Config{Table: table, Pacing: riftrelay.PacingBurst, Keys: []riftrelay.Key{{Value: oneKey}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	// The certificate is for example.com: dial the server, ask for that name.
	base := riftrelay.NewBase(riftrelay.BaseOptions{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs})
	base.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	t.Cleanup(base.CloseIdleConnections)
	rt := &riftrelay.Transport{Limiter: l, Base: base, Upstream: "https://example.com/base"}
	client := &http.Client{Transport: rt}
	resp, body, err := call(t.Context(), client, http.MethodGet, byPUUID, "")
	if err != nil {
		t.Fatal(err)
	}
	if body != "\x1f\x8bnot really" || resp.Header.Get("Content-Encoding") != "gzip" || resp.Header.Get("X-Proto") != "HTTP/2.0" {
		t.Errorf("%q %v", body, resp.Header)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(byPUUID, "/p")+"/elsewhere", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err = rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		t.Errorf("%d, want the redirect itself", resp.StatusCode)
	}
}
