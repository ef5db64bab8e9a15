package riftrelay_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// A replica at which nobody calls knows what another has used of the limit: its
// estimate says so, and a call that can't wait for so long is refused at once.
func TestEstimateKnowsWhatOthersUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lib := patient
		lib.Pacing = riftrelay.PacingBurst
		f := newFlock(t, oneLimit("100:10"), lib, time.Millisecond, 10*time.Millisecond)
		idle := f.replicas[1]
		if err := get(t.Context(), idle.client, byPUUID); err != nil {
			t.Fatal(err)
		}
		during(t, 40*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
			f.replicas[0].load(ctx, wg, 300, byPUUID)
			time.Sleep(23 * time.Second) // a window began at 20 s or so, and is full
			wait, _, err := idle.limiter.Estimate(mustMatch(t, byPUUID), 1, riftrelay.Options{})
			if err != nil || wait < 4*time.Second || wait > 8*time.Second {
				t.Errorf("the estimate is %v, %v; want the rest of the window", wait, err)
			}
			for _, most := range []time.Duration{time.Second, 3 * time.Second} {
				began := time.Now()
				err := get(riftrelay.WithOptions(ctx, riftrelay.Options{MaxWait: most}), idle.client, byPUUID)
				var rejected *riftrelay.RejectedError
				if took := time.Since(began); !errors.As(err, &rejected) || rejected.Reason != riftrelay.ReasonDeadline || took > 50*time.Millisecond {
					t.Errorf("a call that may wait %v ends with %v after %v", most, err, took)
				}
			}
			began := time.Now()
			if err := get(riftrelay.WithOptions(ctx, riftrelay.Options{MaxWait: 12 * time.Second}), idle.client, byPUUID); err != nil {
				t.Errorf("a call that may wait 12 s ends with %v after %v", err, time.Since(began))
			}
		})
		f.mustHold(t)
	})
}

// With LossClosed, calls that wait say that they wait for the store, and those that
// can't wait long are refused at once, with that reason.
func TestClosedExplainsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lib := patient
		lib.StoreLoss = riftrelay.LossClosed
		f := newFlock(t, oneLimit("100:10"), lib, time.Millisecond)
		r := f.replicas[0]
		if err := get(t.Context(), r.client, byPUUID); err != nil {
			t.Fatal(err)
		}
		f.away.Store(true)
		time.Sleep(6 * time.Second)
		waits := make(chan error, 1)
		go func() { waits <- get(t.Context(), r.client, byPUUID) }()
		time.Sleep(time.Second)
		found := false
		for _, q := range r.limiter.Snapshot().Queues {
			found = true
			if q.Why.Kind != riftrelay.WaitReplicas || !strings.Contains(q.Why.String(), "the store is away") {
				t.Errorf("it waits because %v (%s)", q.Why, q.Why.Kind)
			}
		}
		if !found {
			t.Error("nothing waits")
		}
		began := time.Now()
		err := get(riftrelay.WithOptions(t.Context(), riftrelay.Options{MaxWait: 2 * time.Second}), r.client, byPUUID)
		var rejected *riftrelay.RejectedError
		if !errors.As(err, &rejected) || rejected.Reason != riftrelay.ReasonDeadline || !strings.Contains(rejected.Detail, "STORE_LOSS=closed") {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("refused after %v", took)
		}
		f.away.Store(false)
		if err := <-waits; err != nil {
			t.Error(err)
		}
	})
}
