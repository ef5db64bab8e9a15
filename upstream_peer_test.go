package riftrelay_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// overPipes is an edge and a client of it over connections in memory, with
// net/http at both ends. It belongs to the synctest bubble that made it.
type overPipes struct {
	counting
	edge    *riotsim.Edge
	limiter *riftrelay.Limiter
	base    *http.Transport
	rt      *riftrelay.Transport
	client  *http.Client
	quiet   silence
}

// newOverPipes speaks HTTP/2 over TLS if cert is one, otherwise HTTP/1.1.
func newOverPipes(t *testing.T, sim riotsim.Config, cert *tls.Certificate, o riftrelay.BaseOptions) *overPipes {
	t.Helper()
	sim.Table, sim.Body, sim.Arrivals = table, riotsim.Tiny, -1
	edge, err := riotsim.New(sim)
	if err != nil {
		t.Fatal(err)
	}
	p := &overPipes{edge: edge, base: riftrelay.NewBase(o)}
	if p.limiter, err = riftrelay.New(riftrelay.Config{Table: table, Keys: []riftrelay.Key{{Value: oneKey}}, Hooks: hooksOf(p), AdmissionTimeout: -1}); err != nil {
		t.Fatal(err)
	}
	pipe := riotsim.Pipe()
	server := &http.Server{Handler: edge, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	upstream := "http://upstream"
	serve := func() error { return server.Serve(pipe) }
	if cert != nil {
		upstream = "https://upstream"
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12}
		serve = func() error { return server.ServeTLS(pipe, "", "") }
	}
	served := make(chan error, 1)
	go func() { served <- serve() }()
	p.base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return p.quiet.wrap(pipe.Dial(ctx, network, address))
	}
	p.rt = &riftrelay.Transport{Limiter: p.limiter, Base: p.base, Upstream: upstream, Timeout: 90 * time.Second}
	p.client = &http.Client{Transport: p.rt}
	t.Cleanup(func() {
		p.limiter.Close()
		p.base.CloseIdleConnections()
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return p
}

// whole is get with the body read, so that its connection is kept.
func whole(ctx context.Context, client *http.Client, url string) error {
	_, _, err := call(ctx, client, http.MethodGet, url, "")
	return err
}

// R21: a call hangs for a minute and then succeeds. It gets its answer, holds up
// nobody, and costs one slot.
func TestUpstreamHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOverPipes(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: "10:1"}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
			Faults: []riotsim.Fault{{Hang: time.Minute, Skip: 10, Times: 3}},
		}, nil, riftrelay.BaseOptions{})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Minute, stop)
		var hung atomic.Int64
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				for ctx.Err() == nil {
					begin := time.Now()
					err := whole(ctx, p.client, byPUUID)
					if took := time.Since(begin); err == nil && took > time.Minute {
						hung.Add(1)
					} else if ctx.Err() == nil && (err != nil || took > 10*time.Second) {
						t.Errorf("%v after %v", err, took)
					}
				}
			})
		}
		callers.Wait()
		r := p.edge.Report()
		if hung.Load() != 3 || r.Accepted < 1150 || r.Violations > 0 {
			t.Errorf("%d calls were answered after a minute, %d in two minutes of 10:1, %d own 429s", hung.Load(), r.Accepted, r.Violations)
		}
		for _, iv := range p.edge.WorstIntervals() {
			if iv.Over() {
				t.Errorf("over the limit: %+v", iv)
			}
		}
	})
}

// A peer that vanished, or the address of before, takes all kept connections
// along. One call finds out by its time-out, not one for each connection.
func TestUpstreamVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOverPipes(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: riotsim.Large}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Latency: delays[1].latency,
		}, nil, riftrelay.BaseOptions{})
		atOnce := func(n int) {
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					if err := whole(t.Context(), p.client, byPUUID); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		p.rt.Timeout = 10 * time.Second // less than idle connections live
		atOnce(1)
		atOnce(200)
		p.quiet.fall()
		begin := time.Now()
		if err := whole(t.Context(), p.client, byPUUID); !errors.Is(err, riftrelay.ErrUpstreamTimeout) {
			t.Errorf("a call to nobody: %v", err)
		}
		for range 5 {
			if err := whole(t.Context(), p.client, byPUUID); err != nil {
				t.Errorf("%v after the first: %v", time.Since(begin), err)
			}
		}
		atOnce(200)
	})
}

// One call that hangs, while others are answered, says nothing of the
// connections that are kept.
func TestUpstreamHangKeepsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOverPipes(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: riotsim.Large}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
			Faults: []riotsim.Fault{{Hang: time.Hour, Method: "champion-mastery-v4", Skip: 1}}, Latency: delays[1].latency,
		}, nil, riftrelay.BaseOptions{})
		p.rt.Timeout = 10 * time.Second
		dial, dials := p.base.DialContext, 0
		p.base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return dial(ctx, network, address)
		}
		if err := whole(t.Context(), p.client, mastery); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // its connection is kept
		done := make(chan error, 1)
		go func() { done <- whole(t.Context(), p.client, mastery) }()
		synctest.Wait() // it has that one
		for range 15 {
			if err := whole(t.Context(), p.client, byPUUID); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		if err := <-done; !errors.Is(err, riftrelay.ErrUpstreamTimeout) {
			t.Errorf("the call that hangs: %v", err)
		}
		if dials != 2 {
			t.Errorf("%d dials, want one for each call at once", dials)
		}
	})
}

// Over HTTP/2 pings find a peer that vanished, long before UPSTREAM_TIMEOUT.
func TestUpstreamVanishesHTTP2(t *testing.T) {
	cert, roots := certificate(t, "upstream")
	synctest.Test(t, func(t *testing.T) {
		p := newOverPipes(t, riotsim.Config{}, &cert, riftrelay.BaseOptions{RootCAs: roots})
		if err := whole(t.Context(), p.client, byPUUID); err != nil {
			t.Fatal(err)
		}
		p.quiet.fall()
		begin := time.Now()
		err := whole(t.Context(), p.client, byPUUID)
		if took := time.Since(begin); err == nil || took > 20*time.Second {
			t.Errorf("%v after %v, want a failure within 20 s", err, took)
		}
		if err := whole(t.Context(), p.client, byPUUID); err != nil {
			t.Errorf("the call after it: %v", err)
		}
	})
}

// net/http takes a request with this header for one that may be repeated, if it
// has no body. We don't.
func TestUpstreamIdempotencyKey(t *testing.T) {
	var received atomic.Int64
	client := overSockets(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if received.Add(1) == 2 { // on the kept connection: cut without an answer
			panic(http.ErrAbortHandler)
		}
	}), riftrelay.Config{Pacing: riftrelay.PacingBurst})
	client.Transport.(*riftrelay.Transport).Retry = riftrelay.Retry{Reset: true}
	post := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tournamentCodes, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "one")
		resp, err := client.Do(req)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		return err
	}
	if err := post(); err != nil {
		t.Fatal(err)
	}
	if err := post(); err == nil || received.Load() != 2 {
		t.Errorf("%v, received %d times, want a failure of the second", err, received.Load())
	}
}
