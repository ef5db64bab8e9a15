package riftrelay_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// What an answer tells one replica of a stop, the others obey within 100 ms,
// with the permits in their hands too.
func TestStopOfOneReplicaStopsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := newFlock(t, oneLimit("500:10"), patient, time.Millisecond, 10*time.Millisecond, 20*time.Millisecond)
		during(t, 30*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
			for _, r := range f.replicas {
				r.load(ctx, wg, 100, byPUUID)
			}
			time.Sleep(20 * time.Second)
			if err := f.edge.Inject(riotsim.Fault{Kind: riotsim.Application, Times: 1, Wait: 3 * time.Second}); err != nil {
				t.Fatal(err)
			}
		})
		var at time.Duration
		late := 0
		for _, a := range f.edge.Arrivals() {
			since := a.Time.Sub(began)
			if a.Kind == riotsim.Application && at == 0 {
				at = since
			}
			// 30 ms there, 30 ms back, and 100 ms.
			if at > 0 && since > at+160*time.Millisecond && since < at+3*time.Second {
				late++
			}
		}
		if at == 0 || late > 0 {
			t.Errorf("the stop came at %v, %d calls arrived later than 100ms after it was known", at, late)
		}
	})
}

func TestLimitsLearnedByOneHoldForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := oneLimit("100:2")
		f := newFlock(t, cfg, patient, time.Millisecond, 10*time.Millisecond)
		if err := get(t.Context(), f.replicas[0].client, byPUUID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		if err := get(t.Context(), f.replicas[1].client, mastery); err != nil {
			t.Fatal(err)
		}
		for _, s := range f.replicas[1].limiter.Snapshot().Scopes {
			if s.Method == "" && (len(s.Windows) != 1 || s.Windows[0].Limit != 100) {
				t.Errorf("the other replica has %+v", s.Windows)
			}
		}
		f.mustHold(t)
	})
}

func TestKeyFoundDeadByOneIsSuspectedByAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, oneLimit("500:10"), patient, time.Millisecond, 10*time.Millisecond)
		usable := func(r *replica) bool { return r.limiter.Snapshot().Keys[0].Usable }
		get(t.Context(), f.replicas[0].client, byPUUID)
		get(t.Context(), f.replicas[1].client, byPUUID)
		time.Sleep(3 * time.Second)
		f.edge.SetKey("RGAPI-sim", 401)
		get(t.Context(), f.replicas[0].client, byPUUID)
		get(t.Context(), f.replicas[0].client, account)
		if usable(f.replicas[0]) {
			t.Fatal("the key is good still for the one that found out")
		}
		time.Sleep(1100 * time.Millisecond)
		if usable(f.replicas[1]) {
			t.Error("the other has not heard of it after 1.1s")
		}
		f.edge.SetKey("RGAPI-sim", 200)
		for range 40 {
			get(t.Context(), f.replicas[0].client, byPUUID)
			time.Sleep(500 * time.Millisecond)
			if usable(f.replicas[0]) {
				break
			}
		}
		time.Sleep(1100 * time.Millisecond)
		for i, r := range f.replicas {
			if !usable(r) {
				t.Errorf("replica %d has not heard that the key is good again", i)
			}
		}
	})
}

// Replicas at different distances from Riot: J covers the difference.
func TestReplicasAtDifferentDistances(t *testing.T) {
	for _, pacing := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst} {
		for seed := range soaks(2) {
			synctest.Test(t, func(t *testing.T) {
				lib := patient
				lib.Pacing = pacing
				cfg := oneLimit("100:2")
				cfg.Seed = uint64(seed)
				cfg.Latency = riotsim.Latency{Up: 10 * time.Millisecond, Down: 10 * time.Millisecond}
				f := newFlock(t, cfg, lib, time.Millisecond, time.Millisecond)
				f.replicas[1].base.extra = 130 * time.Millisecond
				during(t, time.Minute, func(ctx context.Context, wg *sync.WaitGroup) {
					for _, r := range f.replicas {
						r.load(ctx, wg, 120, byPUUID)
					}
				})
				f.mustHold(t)
				t.Logf("b=%v, seed %d: %d and %d calls of 3,000", pacing, seed, f.replicas[0].served.Load(), f.replicas[1].served.Load())
			})
		}
	}
}

// One call a second, to the full, by two replicas.
func TestReplicasShareTheSmallestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, oneLimit("1:1"), patient, time.Millisecond, 10*time.Millisecond)
		during(t, time.Minute, func(ctx context.Context, wg *sync.WaitGroup) {
			for _, r := range f.replicas {
				r.load(ctx, wg, 10, byPUUID)
			}
		})
		f.mustHold(t)
		a, b := f.replicas[0].served.Load(), f.replicas[1].served.Load()
		t.Logf("%d and %d calls in a minute", a, b)
		if a+b < 50 || a < 20 || b < 20 {
			t.Errorf("%d and %d calls in a minute", a, b)
		}
	})
}

// Several keys: each has its own budget, and each is used to the full.
func TestReplicasUseSeveralKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lib := patient
		lib.Keys = []riftrelay.Key{{Name: "a", Value: "RGAPI-a"}, {Name: "b", Value: "RGAPI-b"}}
		f := newFlock(t, oneLimit("100:2"), lib, time.Millisecond, 10*time.Millisecond)
		during(t, 40*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
			for _, r := range f.replicas {
				r.load(ctx, wg, 250, byPUUID)
			}
		})
		f.mustHold(t)
		byKey := map[string]int{}
		for _, a := range f.edge.Arrivals() {
			byKey[a.Key]++
		}
		t.Logf("calls by key: %v of 2,000", byKey)
		if byKey["RGAPI-a"] < 1850 || byKey["RGAPI-b"] < 1850 {
			t.Errorf("calls by key: %v, want 2,000 each", byKey)
		}
	})
}
