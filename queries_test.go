package riftrelay_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"riftrelay"
	"riftrelay/riotsim"
)

// A query changes nothing: a thousand estimates, snapshots and saves leave the
// state as it was, for methods that were called and for others.
func TestQueriesChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: rules("100:10"), MethodLimits: rules("20:10")}, riftrelay.Config{
			Keys: twoKeys(), Aliases: []riftrelay.Alias{{Path: "/lol/champion-mastery", Hosts: []string{"euw1", "kr"}}},
			Budgets: []riftrelay.Budget{{Name: "crawler", Share: 0.5}},
		})
		for range 30 {
			if err := get(riftrelay.WithMaxWait(t.Context(), riftrelay.NowOrNever), s.client, byPUUID); err != nil {
				break
			}
		}
		time.Sleep(100 * time.Millisecond)
		state := func() (riftrelay.Snapshot, string) {
			var saved strings.Builder
			if err := s.limiter.SaveState(&saved); err != nil {
				t.Fatal(err)
			}
			return s.limiter.Snapshot(), saved.String()
		}
		before, savedBefore := state()
		routes := []string{byPUUID, mastery, status, strings.Replace(mastery, "euw1", "kr", 1), strings.Replace(status, "euw1", "na1", 1)}
		for i := range 1000 {
			o := riftrelay.Options{Priority: riftrelay.Priority(i % 2), Budget: []string{"", "crawler"}[i%2], Client: []string{"", "a"}[i/2%2]}
			if _, _, err := s.limiter.Estimate(routeTo(t, routes[i%len(routes)]), 1+i%40, o); err != nil {
				t.Fatal(err)
			}
			s.limiter.Limits(routeTo(t, routes[i%len(routes)]))
			if i%10 == 0 {
				state()
			}
		}
		after, savedAfter := state()
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the snapshot has changed: %s", diff)
		}
		if savedBefore != savedAfter {
			t.Errorf("the saved state has changed:\n%s\n%s", savedBefore, savedAfter)
		}
	})
}
