package riftrelay_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// Calls wait for a full key. It is replaced, or disabled beside another one:
// they go on the key that is left, at once, though no new call comes.
func TestKeysChangeWhileCallsWaitForTheStore(t *testing.T) {
	old, fresh := riftrelay.Key{Name: "a", Value: "RGAPI-a"}, riftrelay.Key{Name: "b", Value: "RGAPI-b"}
	for _, c := range []struct {
		name   string
		keys   []riftrelay.Key
		change func(l *riftrelay.Limiter) error
	}{
		{"replaced", []riftrelay.Key{old}, func(l *riftrelay.Limiter) error { return l.SetKeys([]riftrelay.Key{fresh}) }},
		{"new value", []riftrelay.Key{old}, func(l *riftrelay.Limiter) error {
			return l.SetKeys([]riftrelay.Key{{Name: "a", Value: fresh.Value}})
		}},
		{"disabled", []riftrelay.Key{old, fresh}, func(l *riftrelay.Limiter) error { return l.DisableKey("a") }},
	} {
		for _, replicas := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", c.name, replicas), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					lib := patient
					lib.Pacing, lib.Keys = riftrelay.PacingBurst, c.keys
					trips := make([]time.Duration, replicas)
					for i := range trips {
						trips[i] = time.Millisecond
					}
					f := newFlock(t, oneLimit("100:10"), lib, trips...)
					var changed time.Time
					during(t, 9*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
						var ids atomic.Int64
						for i := range 150 * replicas {
							client := f.replicas[i%replicas].client
							wg.Go(func() {
								for ctx.Err() == nil { // with ids that no key is known for: they wait for the first
									get(ctx, client, fmt.Sprintf("%s%077d", byPUUID, ids.Add(1)))
								}
							})
						}
						time.Sleep(5 * time.Second)
						changed = time.Now()
						for _, r := range f.replicas {
							if err := c.change(r.limiter); err != nil {
								t.Error(err)
							}
						}
					})
					f.mustHold(t)
					n := 0
					for _, a := range f.edge.Arrivals() {
						if a.Key == fresh.Value && a.Time.Sub(changed) < 700*time.Millisecond {
							n++
						}
					}
					if n != 100 {
						t.Errorf("%d calls on the new key in the 0.7 s after the change, want 100", n)
					}
				})
			})
		}
	}
}
