package riftrelay_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// R8: one budget over several hosts. Without the alias each host would use all
// of it.
func TestSharedBudget(t *testing.T) {
	const tft = "https://euw1.api.riotgames.com/tft/summoner/v1/summoners/by-puuid/p"
	aliases := []riftrelay.Alias{{Path: "/tft/summoner/v1", Hosts: []string{"euw1", "eun1", "tr1", "ru"}}}
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{
			AppLimits: []riotsim.Rule{{Limit: riotsim.Large}}, MethodLimits: []riotsim.Rule{{Limit: "60:10"}},
			Shared:  []riotsim.Shared{{Method: "tft-summoner-v1", Hosts: []string{"euw1", "eun1", "tr1", "ru"}}},
			Latency: delays[1].latency,
		}, riftrelay.Config{AdmissionTimeout: -1, Aliases: aliases})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Minute, stop)
		backlog(ctx, t, s.client, 40, tft, strings.Replace(tft, "euw1", "eun1", 1), strings.Replace(tft, "euw1", "ru", 1)).Wait()
		s.mustHold(t)
		got := map[string]int{}
		for _, a := range s.edge.Arrivals() {
			got[a.Host]++
		}
		if n := got["euw1"] + got["eun1"] + got["ru"]; n < 1700 {
			t.Errorf("%v: %d in all, want most of 1,800", got, n)
		}
		for host, n := range got {
			if n < 400 {
				t.Errorf("%s got %d of its 600", host, n)
			}
		}
	})
}
