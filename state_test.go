package riftrelay_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// restart is one schedule: a relay under backlog that ends in the middle of a
// full window, and its successor.
type restart struct {
	seed    uint64
	set     limitSet
	windows riotsim.WindowKind
	latency riotsim.Latency
	pacing  riftrelay.Pacing
	crash   bool          // the last saving is up to 5 s old
	runs    time.Duration // of the first one
	pause   time.Duration // until the second one starts
}

func (r restart) String() string {
	return fmt.Sprintf("seed %d: %s/%v %v crash=%v ends after %v, pause %v", r.seed, r.set.name, r.windows, r.pacing, r.crash, r.runs, r.pause)
}

// restarts draws the schedule of a seed. Ends and kinds alternate, so that of
// each there are as many.
func restarts(seed uint64) restart {
	rnd := rand.New(rand.NewPCG(seed, 1))
	r := restart{seed: seed, crash: seed%2 == 1, pacing: []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst}[seed/2%2], set: limitSets[seed/4%2]}
	r.windows = []riotsim.WindowKind{riotsim.Fixed, riotsim.Sliding, riotsim.Aligned}[rnd.IntN(3)]
	r.latency = delays[rnd.IntN(len(delays))].latency
	r.runs = r.set.w + time.Duration((0.1+0.8*rnd.Float64())*float64(r.set.w))
	r.pause = time.Duration(rnd.Float64() * float64(3*time.Second))
	return r
}

// run returns the number of own 429s after the restart, and the calls accepted in
// so many windows after it.
func (r restart) run(t *testing.T, withState bool, windows float64) (own, accepted int) {
	edge, err := riotsim.New(riotsim.Config{
		Table: table, Body: riotsim.Tiny, Seed: r.seed, Windows: r.windows, Latency: r.latency,
		AppLimits: []riotsim.Rule{{Limit: r.set.app}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer edge.Close()
	start := func() (*riftrelay.Limiter, *http.Client) {
		l, err := riftrelay.New(riftrelay.Config{Table: table, Pacing: r.pacing, AdmissionTimeout: -1, Keys: []riftrelay.Key{{Value: "RGAPI-sim"}}})
		if err != nil {
			t.Fatal(err)
		}
		return l, &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: edge.RoundTripper()}}
	}
	load := func(client *http.Client, d time.Duration) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(d, stop)
		backlog(ctx, t, client, r.set.n/4+50, byPUUID).Wait()
	}

	var saved bytes.Buffer
	first, client := start()
	save := func() {
		saved.Reset()
		if err := first.SaveState(&saved); err != nil {
			t.Error(err)
		}
	}
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(riftrelay.StateInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				save()
			case <-done:
				return
			}
		}
	}()
	load(client, r.runs)
	close(done)
	synctest.Wait()
	first.Close()
	if !r.crash {
		save()
	}
	before := edge.Report().Totals
	time.Sleep(r.pause)

	second, client := start()
	if withState {
		got, err := second.LoadState(&saved)
		if err != nil || got.Scopes == 0 {
			t.Errorf("%v: %+v, %v", r, got, err)
		}
	}
	load(client, time.Duration(windows*float64(r.set.w))+5*time.Second)
	second.Close()
	time.Sleep(time.Minute)
	after := edge.Report().Totals
	return after.Violations - before.Violations, after.Accepted - before.Accepted
}

func TestRestartInAFullWindow(t *testing.T) {
	for seed := range uint64(60) {
		r := restarts(seed)
		synctest.Test(t, func(t *testing.T) {
			own, accepted := r.run(t, true, 2)
			if own != 0 {
				t.Errorf("%v: %d own 429s with state", r, own)
			}
			if accepted < r.set.n {
				t.Errorf("%v: %d accepted in two windows after the restart", r, accepted)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			if own, _ := r.run(t, false, 0.5); own > 1 {
				t.Errorf("%v: %d own 429s without state", r, own)
			}
		})
	}
}
