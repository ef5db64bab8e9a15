package riftrelay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

const (
	matchByID     = "https://europe.api.riotgames.com/lol/match/v5/matches/EUW1_1"
	timelineByID  = matchByID + "/timeline"
	matchPath     = "/lol/match/v5/matches/EUW1_1"
	matchTemplate = "/lol/match/v5/matches/{anyName}"
)

// crawl has calls of one budget wait all the time for several methods, and returns when they were sent.
func crawl(t *testing.T, o riftrelay.ShareOverride, urls ...string) *labelled {
	t.Helper()
	const w = 10 * time.Second
	s := simulate(t, riotsim.Config{AppLimits: rules("100:10"), MethodLimits: rules("1000:10"), Latency: steady, Seed: 1},
		riftrelay.Config{Pacing: riftrelay.PacingBurst, AdmissionTimeout: -1, Budgets: []riftrelay.Budget{{Name: "b", Share: 0.4, Overrides: []riftrelay.ShareOverride{o}}}})
	b := label(s)
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(5*w, stop)
	backlog(in(ctx, riftrelay.Options{Budget: "b"}), t, s.client, 120, urls...).Wait()
	s.mustHold(t)
	return b
}

// An override for a path is for that endpoint alone, and for the application's limit there.
func TestOverrideIsForOneEndpoint(t *testing.T) {
	for name, tt := range map[string]struct {
		o                    riftrelay.ShareOverride
		urls                 []string
		match, timeline, all int // the most calls in a window
	}{
		"less":              {riftrelay.ShareOverride{Path: matchTemplate, Share: 0.05}, []string{matchByID}, 5, 0, 5},
		"less, of another":  {riftrelay.ShareOverride{Path: matchTemplate, Share: 0.05}, []string{timelineByID}, 0, 40, 40},
		"less, beside":      {riftrelay.ShareOverride{Path: matchTemplate, Share: 0.05}, []string{matchByID, timelineByID}, 5, 40, 40},
		"more":              {riftrelay.ShareOverride{Path: matchTemplate, Share: 0.6}, []string{matchByID}, 60, 0, 60},
		"more, beside":      {riftrelay.ShareOverride{Path: matchTemplate, Share: 0.6}, []string{matchByID, timelineByID}, 60, 40, 60},
		"of another host":   {riftrelay.ShareOverride{Host: "asia", Path: matchTemplate, Share: 0.05}, []string{matchByID}, 40, 0, 40},
		"below":             {riftrelay.ShareOverride{Path: "/lol/match/v5/matches/{matchId}", Share: 0.01, Below: true}, []string{timelineByID}, 0, 10, 10},
		"below, both count": {riftrelay.ShareOverride{Path: "/lol/match", Share: 0.03, Below: true}, []string{matchByID, timelineByID}, 30, 30, 40},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := crawl(t, tt.o, tt.urls...)
				const w = 10 * time.Second
				match, timeline, all := b.worst("b "+matchPath, w), b.worst("b "+matchPath+"/timeline", w), b.worst("b", w)
				if match > tt.match || timeline > tt.timeline || all != tt.all {
					t.Errorf("at most %d matches, %d timelines, %d in all within a window; want %d, %d and exactly %d", match, timeline, all, tt.match, tt.timeline, tt.all)
				}
				if len(tt.urls) == 2 && (match < 1 || timeline < 1) {
					t.Errorf("%d matches and %d timelines: one of the two never goes", match, timeline)
				}
			})
		})
	}
}

// Calls of high priority count for their budget. Only a hard budget holds them back.
func TestHighPriorityLeavesTheBudgetUnlessItIsHard(t *testing.T) {
	for name, tt := range map[string]struct {
		hard, call bool
		high       int // the most calls of high priority in a window
	}{"as in the first version": {false, false, 100}, "hard": {true, false, 20}, "hard for this call": {false, true, 20}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const w = 10 * time.Second
				s := simulate(t, riotsim.Config{AppLimits: rules("100:10"), MethodLimits: rules("1000:10"), Latency: steady, Seed: 1},
					riftrelay.Config{AdmissionTimeout: -1, Budgets: []riftrelay.Budget{{Name: "b", Share: 0.2, Hard: tt.hard}}})
				b := label(s)
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(3*w, stop)
				backlog(in(ctx, riftrelay.Options{Budget: "b", Priority: riftrelay.High, HardBudget: tt.call}), t, s.client, 120, matchByID).Wait()
				s.mustHold(t)
				if n := b.worst("b", w); n != tt.high {
					t.Errorf("%d calls of high priority in a window, want %d", n, tt.high)
				}
				// The budget is used up for calls of normal priority by those of high.
				err := get(in(t.Context(), riftrelay.Options{Budget: "b", MaxWait: riftrelay.NowOrNever}), s.client, matchByID)
				if err == nil {
					t.Error("a call of normal priority went where the budget was used up")
				}
			})
		})
	}
}
