package riftrelay_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// TestHighPriorityFindsRoomAcrossReplicas is TestHighPriorityFindsRoom with three
// replicas and a store: each keeps normal calls waiting, and one makes the calls of
// high priority.
func TestHighPriorityFindsRoomAcrossReplicas(t *testing.T) {
	for _, c := range busyWithHigh {
		t.Run(c.app, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w waits
				lib := patient
				lib.Hooks = riftrelay.Hooks{Admission: w.Admission}
				trip := 200 * time.Microsecond
				f := newFlock(t, oneLimit(c.app), lib, trip, trip, trip)
				during(t, 2*c.w+10*time.Minute, func(ctx context.Context, wg *sync.WaitGroup) {
					for _, r := range f.replicas {
						r.load(ctx, wg, c.n, byPUUID)
					}
					time.Sleep(2 * c.w) // until the limit is full
					w.call(ctx, wg, f.replicas[2].client, c.every)
				})
				f.mustHold(t)
				mustFindRoom(t, &w, f.edge, c.n, c.w)
			})
		})
	}
}
