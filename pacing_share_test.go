package riftrelay_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// TestShareOfPacing shows why PacingBalanced is half of each window: what a page
// of 12 calls in a row, a bulk job, and both together meet with other shares.
// docs/performance.md has its table: go test . -run TestShareOfPacing -v -soak 1
func TestShareOfPacing(t *testing.T) {
	apps, shares, rounds := []string{"20:1,100:120"}, []float64{0, 0.5, 1}, 4
	if *soakHours > 0 {
		apps, shares, rounds = []string{"20:1,100:120", "100:1", "500:10"}, []float64{0, 0.1, 0.25, 0.5, 0.75, 1}, 20
	}
	for _, app := range apps {
		for _, share := range shares {
			synctest.Test(t, func(t *testing.T) {
				pacing := riftrelay.PacingShare(share)
				idle, own := pages(t, app, pacing, rounds, false)
				busy, ownBusy := pages(t, app, pacing, rounds, true)
				use := bulk(t, app, pacing)
				t.Logf("%-13s %-6v page on an idle key: %5.2f s median, %5.2f s longest; beside a bulk job: %6.1f s, %6.1f s; bulk: %.1f %% of the limit; own 429s: %d",
					app, pacing, idle[0].Seconds(), idle[1].Seconds(), busy[0].Seconds(), busy[1].Seconds(), 100*use, own+ownBusy)
				if own+ownBusy > 0 {
					t.Errorf("%s, %v: %d own 429s", app, pacing, own+ownBusy)
				}
				if share == riftrelay.PacingBalanced.Share() && (idle[1] > time.Second || busy[1] > 30*time.Second) {
					t.Errorf("%s: a page of 12 calls takes up to %v on an idle key, and %v beside a bulk job", app, idle[1], busy[1])
				}
			})
		}
	}
}

// pages makes some pages of 12 calls, one call after the other, with five minutes
// between them, beside a bulk job or alone. It returns the median and the longest
// time of a page, and the own 429s.
func pages(t *testing.T, app string, pacing riftrelay.Pacing, rounds int, busy bool) (times [2]time.Duration, own int) {
	s := simulate(t, riotsim.Config{AppLimits: rules(app), MethodLimits: rules(riotsim.NoLimit), Latency: steady, Seed: 1}, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1})
	ctx, stop := context.WithCancel(t.Context())
	job := new(sync.WaitGroup)
	if busy {
		job = backlog(ctx, t, s.client, 50, byPUUID)
	}
	if err := get(ctx, s.client, status); err != nil { // tells the limits
		t.Error(err)
	}
	var all []time.Duration
	for i := range rounds {
		time.Sleep(5*time.Minute + time.Duration(i)*777*time.Millisecond)
		began := time.Now()
		for range 12 {
			if err := get(ctx, s.client, mastery); err != nil {
				t.Error(err)
			}
		}
		all = append(all, time.Since(began))
	}
	stop()
	job.Wait()
	slices.Sort(all)
	return [2]time.Duration{all[len(all)/2], all[len(all)-1]}, s.edge.Report().Violations
}

// shareSets are the limits of TestShareOfPacing, by their application's.
var shareSets = map[string]limitSet{
	"20:1,100:120": limitSets[0], "500:10": limitSets[1], "100:1": limitSets[2],
}

// bulk keeps calls waiting, and returns the share of the limit that they use.
func bulk(t *testing.T, app string, pacing riftrelay.Pacing) float64 {
	return useOf(t, shareSets[app], riotsim.Fixed, steady, riftrelay.Config{Pacing: pacing, AdmissionTimeout: -1})
}
