package riftrelay_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// A replica that was told to wait for the turns of others, who then want no more,
// or are gone, has their slots soon.
func TestTurnsOfThoseThatStopped(t *testing.T) {
	for _, dies := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			lib := riftrelay.Config{AdmissionTimeout: -1}
			f := newFlock(t, oneLimit("500:10"), lib, time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond)
			began := time.Now()
			ctx, stop := context.WithCancel(t.Context())
			rest, stopRest := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for i, r := range f.replicas {
				if i == 4 {
					r.load(ctx, &wg, 100, byPUUID)
					continue
				}
				r.load(rest, &wg, 100, byPUUID)
			}
			time.Sleep(20 * time.Second)
			if dies {
				for i, r := range f.replicas {
					if i != 4 {
						r.store.cut.Store(true)
					}
				}
			}
			stopRest()
			time.Sleep(10 * time.Second)
			stop()
			wg.Wait()
			f.mustHold(t)
			for _, d := range []struct {
				from, to time.Duration
				least    int
			}{{20 * time.Second, 21 * time.Second, 30}, {21 * time.Second, 30 * time.Second, 440}} {
				if n := f.between(began, d.from, d.to); n < d.least {
					t.Errorf("dies %v: %d calls from %v to %v, want %d", dies, n, d.from, d.to, d.least)
				} else {
					t.Logf("dies %v: %d calls from %v to %v", dies, n, d.from, d.to)
				}
			}
		})
	}
}
