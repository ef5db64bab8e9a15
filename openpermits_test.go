package riftrelay_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

// A forgotten permit is found, with its age.
func TestOpenPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "100:1", "50:1")
		if open := l.OpenPermits(); len(open) != 0 {
			t.Errorf("of none: %v", open)
		}
		forgotten, err := l.Acquire(t.Context(), r, riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		second, err := l.Acquire(t.Context(), mustMatch(t, "https://europe.api.riotgames.com/riot/account/v1/accounts/me"), riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		second.Sent()
		open := l.OpenPermits()
		if len(open) != 2 || open[0].For != 2*time.Second || open[0].Sent || !open[1].Sent || open[1].For != 0 {
			t.Fatalf("%+v", open)
		}
		for i, want := range []string{
			"euw1:/lol/summoner/v4/summoners/by-puuid/{encryptedPUUID} on main, for 2s, not sent",
			"europe:/riot/account/v1/accounts/me on no key, for 0s, sent",
		} {
			if got := open[i].String(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		l.Close() // permits stay valid, and are still missed
		if got := len(l.OpenPermits()); got != 2 {
			t.Errorf("%d open after Close", got)
		}
		forgotten.Release()
		second.Observe(http.StatusOK, nil)
		if open := l.OpenPermits(); len(open) != 0 {
			t.Errorf("at the end: %v", open)
		}
		if got := l.Snapshot().EndedTwice; got != 0 {
			t.Errorf("ended twice: %d", got)
		}
	})
}

// A second end does nothing but be counted, also when the permit's place serves
// another call by then.
func TestPermitEndedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := mustNew(t, riftrelay.Config{Pacing: riftrelay.PacingBurst}, "3:10", "50:10")
		first, err := l.Acquire(t.Context(), r, riftrelay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		first.Sent()
		first.Observe(http.StatusOK, learned("3:10", "50:10"))
		first.Release()
		if got := l.Snapshot().EndedTwice; got != 1 {
			t.Errorf("counted %d, want 1", got)
		}
		second, err := l.Acquire(t.Context(), r, riftrelay.Options{}) // in the same place
		if err != nil {
			t.Fatal(err)
		}
		first.Observe(http.StatusTooManyRequests, http.Header{"X-Rate-Limit-Type": {"application"}, "Retry-After": {"60"}})
		first.Sent() // may come late, when an answer has overtaken it: not counted
		first.Release()
		if first.Valid() {
			t.Error("a permit that has ended is valid")
		}
		s := l.Snapshot()
		if s.EndedTwice != 3 || s.InFlight != 1 || !second.Valid() {
			t.Errorf("ended twice %d, want 3; in flight %d, want 1; the other is valid: %v", s.EndedTwice, s.InFlight, second.Valid())
		}
		if open := l.OpenPermits(); len(open) != 1 || open[0].Sent {
			t.Errorf("the other one: %v", open)
		}
		for _, scope := range s.Scopes {
			if scope.Cooldown > 0 {
				t.Errorf("%+v is stopped by an answer that came twice", scope)
			}
		}
		second.Release()
		(riftrelay.Permit{}).Release()
		if got := l.Snapshot().EndedTwice; got != 3 {
			t.Errorf("counted %d, want 3", got)
		}
	})
}
