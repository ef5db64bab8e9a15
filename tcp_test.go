package riftrelay_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// A call without an answer is looked after before its charges can expire: what
// was lost on its way makes J grow by then.
func TestConnectionIsLookedAtInTime(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeTCP{trip: 30 * time.Millisecond, think: [2]time.Duration{3 * time.Second, 3 * time.Second}}
			s := withTCP(t, f, true, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "100:1"}}}, riftrelay.Config{Pacing: riftrelay.Burst})
			time.Sleep(time.Second)
			for range 30 { // one teaches the limits, the others J
				var wg sync.WaitGroup
				for range 30 {
					wg.Go(func() {
						if err := get(t.Context(), s.client, byPUUID); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if s.limiter.Snapshot().Margin == riftrelay.DefaultMinMargin {
					break
				}
			}
			if lost {
				f.loss = 1
			}
			calls := backlogOf(t, s.client, 1)
			time.Sleep(999 * time.Millisecond)
			least, most := riftrelay.DefaultMinMargin, riftrelay.DefaultMinMargin
			if lost {
				least, most = 245*time.Millisecond, 300*time.Millisecond // a time-out of 230 ms, and half a round trip
			}
			if j := s.limiter.Snapshot().Margin; j < least || j > most {
				t.Errorf("lost %v: J is %v within a second of the sending, want %v to %v", lost, j, least, most)
			}
			calls.Wait()
			s.mustHold(t)
		})
	}
}

// Behind a proxy nothing is asked: the connection is that to the proxy.
func TestNoTCPInfoBehindAProxy(t *testing.T) {
	for name, base := range map[string]http.RoundTripper{
		"direct":       riftrelay.NewBase(riftrelay.BaseOptions{}),
		"proxy":        &http.Transport{Proxy: http.ProxyFromEnvironment},
		"someone else": http.NewFileTransport(http.Dir(".")),
	} {
		if asks := riftrelay.AsksTCP(base); asks != (name == "direct") {
			t.Errorf("%s: asks %v", name, asks)
		}
	}
}
