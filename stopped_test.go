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
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// Calls that were let go, and whose connections take so long that a cool-down
// begins meanwhile, are not sent into it: whichever scope it stops.
func TestPermitsRecheckCooldowns(t *testing.T) {
	for _, kind := range []riotsim.Kind{riotsim.Application, riotsim.Method, riotsim.Service} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const slow, wait = 3 * time.Second, 10 * time.Second
				s := simulate(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "1000:1"}}, MethodLimits: []riotsim.Rule{{Limit: "1000:1"}}},
					riftrelay.Config{Pacing: riftrelay.PacingBurst})
				s.wire.Dial = func(n uint64) time.Duration {
					if n > 1 && n <= 21 {
						return slow
					}
					return 0
				}
				time.Sleep(time.Second)
				if err := get(t.Context(), s.client, byPUUID); err != nil { // learns the limits
					t.Fatal(err)
				}
				begin := time.Now()
				calls := backlogOf(t, s.client, 20)
				time.Sleep(time.Second)
				if n := s.limiter.Snapshot().InFlight; n != 20 {
					t.Fatalf("%d calls under way, want 20 that dial", n)
				}
				s.edge.Inject(riotsim.Fault{Kind: kind, Wait: wait, Times: 1})
				calls.Add(1)
				go func() {
					defer calls.Done()
					if err := get(t.Context(), s.client, byPUUID); err != nil {
						t.Error(err)
					}
				}()
				time.Sleep(slow)
				if snap := s.limiter.Snapshot(); snap.InFlight != 0 || snap.Queued != 21 || snap.Scopes[0].Windows[0].Used > 1 {
					t.Errorf("%d under way, %d wait, want all 21 to: %+v", snap.InFlight, snap.Queued, snap.Scopes[0])
				}
				calls.Wait()
				arrivals := s.edge.Arrivals()[2:] // after those that taught the limits and met the 429
				for _, a := range arrivals {
					if at := a.Time.Sub(begin); at < time.Second+wait {
						t.Errorf("a call arrived %v after the beginning, in a cool-down from 1 to 11 s", at)
					}
				}
				if len(arrivals) != 21 {
					t.Errorf("%d calls arrived after the cool-down, want 21", len(arrivals))
				}
			})
		})
	}
}

// backlogOf makes n calls.
func backlogOf(t *testing.T, client *http.Client, n int) *sync.WaitGroup {
	wg := new(sync.WaitGroup)
	for range n {
		wg.Go(func() {
			if err := get(t.Context(), client, byPUUID); err != nil {
				t.Error(err)
			}
		})
	}
	return wg
}

// The wait for the end of a cool-down counts against the call's deadline: who
// can't be served in time is told so, and when.
func TestStoppedCallBeyondItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
		s.wire.Dial = func(n uint64) time.Duration { return time.Duration(n%2) * 3 * time.Second }
		if err := get(t.Context(), s.client, byPUUID); err != nil {
			t.Fatal(err)
		}
		s.edge.Inject(riotsim.Fault{Kind: riotsim.Method, Wait: 2 * time.Minute, Times: 1})
		time.Sleep(time.Second)
		s.wire.Dial = func(n uint64) time.Duration { return time.Duration(3-n) * 3 * time.Second } // the second 3 s, the third none
		ended := make(chan error, 2)
		for range 2 {
			go func() {
				ended <- get(riftrelay.WithOptions(t.Context(), riftrelay.Options{MaxWait: time.Minute}), s.client, byPUUID)
			}()
			synctest.Wait()
		}
		if err := <-ended; err != nil { // it sees the 429 itself
			t.Error(err)
		}
		var rejected *riftrelay.RejectedError
		if err := <-ended; !errors.As(err, &rejected) || rejected.Reason != riftrelay.ReasonDeadline || rejected.RetryAfter < 117*time.Second || rejected.RetryAfter > 119*time.Second {
			t.Errorf("got %v", err)
		}
	})
}

func TestPermitValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "1000:1", "1000:1")
		var permits [5]riftrelay.Permit
		for i := range permits {
			p, err := l.Acquire(t.Context(), r, riftrelay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if permits[i] = p; !p.Valid() {
				t.Error("not valid at once")
			}
		}
		permits[0].Sent()
		permits[0].Observe(http.StatusTooManyRequests, stopMethod("5"))
		valid := func(want ...bool) {
			t.Helper()
			for i, p := range permits {
				if p.Valid() != want[i] {
					t.Errorf("permit %d is valid: %v", i, p.Valid())
				}
			}
		}
		valid(false, false, false, false, false)
		permits[1].Release()
		time.Sleep(10 * time.Second)
		// Over, but unproven: one goes alone, those from before are too many.
		valid(false, false, false, false, false)
		probe, err := l.Acquire(t.Context(), r, riftrelay.Options{})
		if err != nil || !probe.Valid() {
			t.Fatalf("the first after the stop: %v, valid %v", err, probe.Valid())
		}
		probe.Sent()
		probe.Observe(http.StatusOK, http.Header{})
		valid(false, false, true, true, true)
		if (riftrelay.Permit{}).Valid() {
			t.Error("the zero value is valid")
		}
	})
}

// The same over sockets. Bodies too large to be kept arrive whole: what was held
// back has not been read.
func TestPermitsRecheckCooldownsOverSockets(t *testing.T) {
	const n, slow, wait = 20, 400 * time.Millisecond, time.Second
	for _, proto := range []string{"HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			body := strings.Repeat("x", 100<<10)
			var received, during, whole atomic.Int64
			var stopped atomic.Int64 // when, in nanoseconds
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-App-Rate-Limit", "1000:1")
				w.Header().Set("X-Method-Rate-Limit", "1000:1")
				if !strings.HasPrefix(proto, r.Proto) {
					t.Errorf("over %s", r.Proto)
				}
				switch received.Add(1) {
				case 1:
					return
				case 2:
					stopped.Store(time.Now().UnixNano())
					w.Header().Set("X-Rate-Limit-Type", "method")
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				if time.Since(time.Unix(0, stopped.Load())) < wait {
					during.Add(1)
				}
				if data, _ := io.ReadAll(r.Body); string(data) == body {
					whole.Add(1)
				}
			}))
			server.EnableHTTP2 = proto == "HTTP/2.0"
			if proto == "HTTP/1.1" {
				server.Start()
			} else {
				server.StartTLS()
			}
			t.Cleanup(server.Close)

			l, err := riftrelay.New(riftrelay.Config{Table: table, Pacing: riftrelay.PacingBurst, Keys: []riftrelay.Key{{Value: oneKey}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			options := riftrelay.BaseOptions{DisableHTTP2: proto != "HTTP/2.0"}
			if c, ok := server.Client().Transport.(*http.Transport); ok && c.TLSClientConfig != nil {
				options.RootCAs = c.TLSClientConfig.RootCAs
			}
			clientOf := func(delay time.Duration) *http.Client {
				base := riftrelay.NewBase(options)
				base.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
					time.Sleep(delay)
					return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
				}
				t.Cleanup(base.CloseIdleConnections)
				upstream := strings.Replace(server.URL, "127.0.0.1", "example.com", 1) // as its certificate says
				return &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: base, Upstream: upstream}}
			}
			quick, slowly := clientOf(0), clientOf(slow)
			if err := get(t.Context(), quick, byPUUID); err != nil { // learns the limits
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, byPUUID, io.MultiReader(strings.NewReader(body))) // no GetBody
					if err != nil {
						t.Error(err)
						return
					}
					resp, err := slowly.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
				})
			}
			for range 1000 {
				if l.Snapshot().InFlight == n {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if err := get(t.Context(), quick, byPUUID); err != nil { // meets the 429, and tries again
				t.Fatal(err)
			}
			wg.Wait()
			if during.Load() != 0 || whole.Load() != n || received.Load() != n+3 {
				t.Errorf("%d arrived in the cool-down, %d whole of %d, %d in all", during.Load(), whole.Load(), n, received.Load())
			}
		})
	}
}
