package limittest

import (
	"time"

	"riftrelay/internal/limit"
)

// spent is what a replica may have spent of a limit of 100 in two minutes.
func spent(method string, n int) limit.Account {
	w := limit.SavedWindow{N: 100, W: 2 * time.Minute, Own: []limit.SavedCharge{{Age: time.Second, N: n}}}
	return limit.Account{Method: method, Saved: limit.Saved{Windows: []limit.SavedWindow{w}}}
}

// merges are the promises of what replicas spend without the store.
var merges = []promise{
	{"what is told again is charged once", func(u *user) {
		u.know("100:120", "m", "100:120")
		for range 4 {
			u.tell(1, 0, spent("", 20), spent("m", 20))
			u.Wait(50 * time.Millisecond)
		}
		u.mustUse(20, 20)
		u.tell(2, 0, spent("", 5), spent("m", 3))
		u.tell(1, 0, spent("", 20)) // late
		u.mustUse(25, 23)
	}},
	{"what several processes tell with the same numbers is charged for each", func(u *user) {
		u.know("100:120", "m", "100:120")
		for process := range int64(3) {
			for range 2 {
				ask := asking("merger")
				ask.Merge = &limit.Merge{Process: 1<<52 - 1 - process, Number: 1, Scopes: []limit.Account{spent("", 10)}}
				u.admit(ask)
			}
		}
		u.mustUse(30, 0)
	}},
	{"what is told again is charged once also in another minute, and with other replicas between", func(u *user) {
		u.know("100:120", "m", "100:120")
		u.tell(1, 0, spent("", 20))
		u.sent(0, u.mustGrant("b", "m", 10, 10)...)
		u.Wait(time.Minute)
		again := limit.Merge{Process: 7, Number: 1, Scopes: []limit.Account{spent("", 20)}}
		ask := asking("merger")
		ask.Merge = again.Aged(time.Minute)
		u.admit(ask)
		u.mustUse(30, 10)
	}},
	{"what was spent in another epoch isn't charged until the replica has heard of this one", func(u *user) {
		u.know("100:120", "m", "100:120")
		epoch := u.admit(asking("a")).Epoch
		if r := u.tell(1, epoch+1, spent("", 20)); r.Epoch != epoch {
			u.Errorf("epoch %d, want %d", r.Epoch, epoch)
		}
		u.mustUse(0, 0)
		u.tell(2, epoch, spent("", 30))
		u.mustUse(30, 0)
	}},
	{"what is told to a store that has forgotten is charged once", func(u *user) {
		if u.Lose == nil {
			return
		}
		u.know("100:120", "m", "100:120")
		epoch := u.tell(1, 0, spent("", 20)).Epoch
		u.Lose()
		u.Wait(5 * time.Millisecond)
		r := u.tell(1, epoch, spent("", 20)) // no answer had come
		if r.Epoch == epoch {
			u.Fatal("the epoch is the same")
		}
		for range 2 {
			r = u.tell(2, r.Epoch, spent("", 20))
		}
		u.mustUse(20, 0)
	}},
	{"a budget that a replica tells of first has the assumed limits as well", func(u *user) {
		ask := asking("a")
		ask.Assumed = quotas("20:1,100:120")
		ask.Merge = &limit.Merge{Process: 7, Number: 1}
		if r := u.admit(ask); len(r.App.Windows) != 2 {
			u.Errorf("application %+v", r.App)
		}
	}},
}

// mustUse holds how many charges count of the application's longest window, and
// of method m's.
func (u *user) mustUse(app, method int) {
	u.Helper()
	r := u.admit(asking("looker", want("m", 0)))
	used := func(v limit.View) int {
		if len(v.Windows) == 0 {
			return 0
		}
		return v.Windows[len(v.Windows)-1].Used
	}
	if a, m := used(r.App), used(r.Views[0]); a != app || m != method {
		u.Errorf("%d charges of the application and %d of the method, want %d and %d", a, m, app, method)
	}
}
