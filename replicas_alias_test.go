package riftrelay_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// Replicas don't exceed a budget that spans hosts (R8): each host has its part.
func TestReplicasShareABudgetOverHosts(t *testing.T) {
	const tft = "https://euw1.api.riotgames.com/tft/summoner/v1/summoners/by-puuid/p"
	aliases := []riftrelay.Alias{{Path: "/tft/summoner/v1", Hosts: []string{"euw1", "eun1", "ru"}}}
	synctest.Test(t, func(t *testing.T) {
		cfg := oneLimit(riotsim.Large)
		cfg.MethodLimits = []riotsim.Rule{{Limit: "60:10"}}
		cfg.Shared = []riotsim.Shared{{Method: "tft-summoner-v1", Hosts: []string{"euw1", "eun1", "ru"}}}
		lib := patient
		lib.Aliases = aliases
		f := newFlock(t, cfg, lib, time.Millisecond, 5*time.Millisecond)
		during(t, 5*time.Minute, func(ctx context.Context, wg *sync.WaitGroup) {
			for _, r := range f.replicas {
				for _, host := range []string{"euw1", "eun1", "ru"} {
					r.load(ctx, wg, 20, strings.Replace(tft, "euw1", host, 1))
				}
			}
			time.Sleep(2 * time.Minute)
			f.away.Store(true) // each goes on within its share
			time.Sleep(time.Minute)
			f.away.Store(false)
		})
		f.mustHold(t)
		got := map[string]int{}
		for _, a := range f.edge.Arrivals() {
			got[a.Host]++
		}
		t.Logf("%v of 1,800", got)
		if n := got["euw1"] + got["eun1"] + got["ru"]; n < 1500 {
			t.Errorf("%v: %d in all, want most of 1,800", got, n)
		}
		for host, n := range got {
			if n < 400 {
				t.Errorf("%s got %d of its 600", host, n)
			}
		}
	})
}
