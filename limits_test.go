package riftrelay_test

import (
	"net/http"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"riftrelay"
	"riftrelay/route"
)

// Limits is what Snapshot says of the same scopes.
func TestLimitsOfARoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := mustNew(t, riftrelay.Config{
			Keys: []riftrelay.Key{{Name: "a", Value: "RGAPI-a"}, {Name: "b", Value: "RGAPI-b"}},
		}, "100:1,1000:10", "50:1")
		other := mustMatch(t, mastery)
		if got := l.Limits(other); len(got) == 0 || got[0].Method != "" || slices.ContainsFunc(got, func(s riftrelay.ScopeState) bool { return s.Method != "" }) {
			t.Errorf("of a method that nobody has called: %+v", got)
		}
		for key := range 2 {
			p, err := l.Acquire(t.Context(), other, riftrelay.Options{Key: keyAt(l, key)})
			if err != nil {
				t.Fatal(err)
			}
			p.Observe(http.StatusOK, learned("100:1,1000:10", "7:1"))
		}
		var want []riftrelay.ScopeState
		for _, s := range l.Snapshot().Scopes {
			if s.Method == "" || s.Method == other.Method.String() {
				want = append(want, s)
			}
		}
		got := l.Limits(other)
		if len(got) != 4 || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		if err := l.SetKeys([]riftrelay.Key{{Name: "b", Value: "RGAPI-b"}}); err != nil {
			t.Fatal(err)
		}
		for _, s := range l.Limits(other) {
			if s.Key != "b" {
				t.Errorf("of a removed key: %+v", s)
			}
		}
		if got := l.Limits(mustMatch(t, "https://kr.api.riotgames.com/lol/status/v4/platform-data")); len(got) != 0 {
			t.Errorf("of a host that nobody has called: %+v", got)
		}
		if got := l.Limits(route.Route{}); got != nil {
			t.Errorf("of no route: %+v", got)
		}
	})
}

func TestLimitsWithoutAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := mustNew(t, riftrelay.Config{}, "100:1", "50:1")
		me := mustMatch(t, "https://europe.api.riotgames.com/riot/account/v1/accounts/me")
		p, err := l.Acquire(t.Context(), me, riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.Observe(http.StatusOK, learned("", "1000:60"))
		got := l.Limits(me)
		if len(got) != 1 || got[0].Key != "" || got[0].Windows[0].Limit != 1000 || got[0].Windows[0].Used != 1 {
			t.Errorf("%+v", got)
		}
	})
}
