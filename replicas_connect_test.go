package riftrelay_test

import (
	"context"
	"io"
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

// Connections to Riot take longer than a permit of the store's stands, while it
// is there and while it is away: calls go once one is there, and few are made.
func TestSlowConnectionsWithAStore(t *testing.T) {
	for _, takes := range []time.Duration{900 * time.Millisecond, 1200 * time.Millisecond, 3500 * time.Millisecond} {
		for _, away := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f := newFlock(t, oneLimit("100:2"), patient)
				r := f.add(t, time.Millisecond)
				pipe := riotsim.Pipe()
				served := make(chan error, 1)
				go func() { served <- f.edge.Serve(pipe) }()
				var dials atomic.Int64
				base := riftrelay.NewBase(riftrelay.BaseOptions{DisableHTTP2: true})
				base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					dials.Add(1)
					select {
					case <-time.After(takes):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					return pipe.Dial(ctx, network, address)
				}
				client := &http.Client{Transport: &riftrelay.Transport{Limiter: r.limiter, Base: base, Upstream: "http://upstream"}}
				time.Sleep(3 * time.Second)
				if f.away.Store(away); away {
					time.Sleep(3 * time.Second)
				}
				var calls atomic.Int64
				during(t, 30*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
					for range 5 {
						wg.Go(func() {
							for ctx.Err() == nil {
								req, err := http.NewRequestWithContext(ctx, http.MethodGet, byPUUID, nil)
								if err != nil {
									t.Error(err)
									return
								}
								if resp, err := client.Do(req); err == nil {
									io.Copy(io.Discard, resp.Body) // else the connection isn't kept
									resp.Body.Close()
									calls.Add(1)
								}
							}
						})
					}
				})
				t.Logf("connecting takes %v, store away %v: %d calls on %d connections", takes, away, calls.Load(), dials.Load())
				if calls.Load() < 1000 {
					t.Errorf("%d calls in 30 s", calls.Load())
				}
				if dials.Load() > 200 {
					t.Errorf("%d connections were made", dials.Load())
				}
				f.mustHold(t)
				base.CloseIdleConnections()
				f.edge.Close()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		}
	}
}
