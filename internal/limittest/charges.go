package limittest

import (
	"time"

	"riftrelay/internal/limit"
)

// charges are the promises of what a permit costs, and for how long.
var charges = []promise{
	{"charges expire a window after the call was counted", func(u *user) {
		u.know("3:1", "m", wide)
		permits := u.mustGrant("a", "m", 5, 3)
		u.Wait(100 * time.Millisecond)
		u.sent(30*time.Millisecond, permits...)
		if w := u.mustWait("a", "m", limit.WaitCharges); w.In < 950*time.Millisecond-u.Slack {
			u.Errorf("to ask again in %v; want about 970ms", w.In)
		}
		u.Wait(960*time.Millisecond - u.Slack)
		u.mustWait("a", "m", limit.WaitCharges)
		u.Wait(13*time.Millisecond + u.Slack)
		u.mustGrant("a", "m", 5, 3)
	}},
	{"a permit nobody reports on is charged until SendBy and J and the window are over", func(u *user) {
		u.know("2:1", "m", wide)
		u.mustGrant("dead", "m", 2, 2)
		u.Wait(limit.SendBy + margin + time.Second - 10*time.Millisecond - u.Slack)
		u.mustWait("a", "m", limit.WaitCharges)
		u.Wait(14*time.Millisecond + u.Slack)
		u.mustGrant("a", "m", 2, 2)
	}},
	{"charges last for their whole window of a minute", func(u *user) {
		u.know("5:60", "m", wide)
		u.sent(0, u.mustGrant("a", "m", 9, 5)...)
		for range 59 {
			u.Wait(time.Second - u.Slack)
			u.mustWait("b", "m", limit.WaitCharges)
		}
		u.Wait(time.Second + 130*time.Millisecond + 60*u.Slack) // and a slot
		u.mustGrant("b", "m", 9, 5)
	}},
	{"a clock that is set back ends no charge early, and lets no more go", func(u *user) {
		u.know("5:60", "m", wide)
		u.sent(0, u.mustGrant("a", "m", 3, 3)...)
		u.Wait(-2 * time.Minute)
		for range 3 {
			u.grants("a", 1)
		}
		u.mustWait("a", "m", limit.WaitCharges)
		u.Wait(2*time.Minute + 55*time.Second)
		u.mustWait("a", "m", limit.WaitCharges)
	}},
	{"a permit isn't charged on a window that comes to be in the same millisecond", func(u *user) {
		u.know("100:10", "m", wide)
		permits := u.mustGrant("a", "m", 4, 4)
		u.teach(passed("", "100:10,200:60"))
		used := func() int { return u.admit(asking("a")).App.Windows[1].Used }
		before := used()
		if before != 4 {
			u.Errorf("the new window holds %d, want the 4 under way", before)
		}
		u.sent(0, permits...)
		if n := used(); n != before && u.Slack == 0 {
			u.Errorf("%d charges, then %d", before, n)
		}
	}},
	{"what was never sent costs nothing", func(u *user) {
		u.know("2:1", "m", wide)
		permits := u.mustGrant("a", "m", 2, 2)
		u.report(limit.Done{Stub: permits[0].Stub, Unsent: true})
		u.mustGrant("a", "m", 2, 1)
	}},
	{"what was never sent is part of no base, and given back too late changes none", func(u *user) {
		u.know("5:1", "m", wide)
		base := func() int { return u.admit(asking("a")).App.Windows[0].Base }
		before := base()
		permits := u.mustGrant("a", "m", 1, 1)
		u.report(limit.Done{Stub: permits[0].Stub, Unsent: true})
		if n := base(); n != before {
			u.Errorf("base %d after a permit was given back, %d before it was granted", n, before)
		}
		permits = u.mustGrant("a", "m", 1, 1)
		u.Wait(limit.SendBy + margin + time.Second + 10*time.Millisecond)
		before = base()
		u.report(limit.Done{Stub: permits[0].Stub, Unsent: true})
		if n := base(); n != before {
			u.Errorf("base %d after a permit was given back whose charge had ended, %d before", n, before)
		}
	}},
	{"a call counted later than now is charged from then", func(u *user) {
		u.know("1:1", "m", wide)
		permits := u.mustGrant("a", "m", 1, 1)
		u.sent(-100*time.Millisecond, permits...)
		u.Wait(1090*time.Millisecond - u.Slack)
		u.mustWait("a", "m", limit.WaitCharges)
		u.Wait(13*time.Millisecond + u.Slack)
		u.mustGrant("a", "m", 1, 1)
	}},
	{"a report that comes when the charge is gone charges nothing", func(u *user) {
		u.know("1:1", "m", wide)
		permits := u.mustGrant("a", "m", 1, 1)
		u.Wait(limit.SendBy + margin + time.Second + 10*time.Millisecond)
		u.sent(2*time.Second, permits...)
		u.mustGrant("a", "m", 1, 1)
	}},
	{"a report of long ago of a charge that lasts ends it", func(u *user) {
		u.know("1:1", "m", wide)
		permits := u.mustGrant("a", "m", 1, 1)
		u.Wait(1100 * time.Millisecond)
		u.sent(1050*time.Millisecond, permits...)
		u.mustGrant("a", "m", 1, 1)
	}},
	{"a report that comes twice frees nothing", func(u *user) {
		u.know("3:1", "m", wide)
		permits := u.mustGrant("a", "m", 3, 3)
		u.sent(0, permits[0])
		u.sent(0, permits[0])
		u.mustWait("a", "m", limit.WaitCharges)
	}},
	{"a call is charged on all windows of both scopes, or on none", func(u *user) {
		u.know("10:1", "m", "2:1", "n", wide)
		u.mustGrant("a", "m", 5, 2)
		for range 3 {
			u.mustWait("a", "m", limit.WaitCharges) // and costs the application nothing
		}
		u.mustGrant("a", "n", 20, 8)
	}},
	{"the longest of several windows counts as well", func(u *user) {
		u.know("5:1,7:3", "m", wide)
		u.sent(0, u.mustGrant("a", "m", 9, 5)...)
		u.Wait(1020 * time.Millisecond)
		u.mustGrant("a", "m", 9, 2)
	}},
	{"budgets have nothing in common", func(u *user) {
		u.know("1:1", "m", wide)
		u.mustGrant("a", "m", 1, 1)
		for _, other := range []limit.Budget{{Key: budget.Key, Host: "na1"}, {Key: "fedcba9876543210", Host: budget.Host}} {
			ask := asking("a", want("m", 1))
			ask.Budget = other
			if r := u.admit(ask); r.App.Known {
				u.Errorf("%v knows the limits of %v", other, budget)
			}
			u.Wait(settle)
			if r := u.admit(ask); len(r.Grants) != 1 {
				u.Errorf("nothing granted on %v: %+v", other, r)
			}
		}
	}},
	{"calls without a key have no application's scope", func(u *user) { // R5
		ask := asking("a", want("m", 3))
		ask.Budget = limit.Budget{Host: "euw1"}
		u.admit(ask)
		u.Wait(settle)
		ask.Facts = []limit.Fact{passed("m", "5:1")}
		if r := u.admit(ask); len(r.Grants) != 3 || len(r.App.Windows) > 0 {
			u.Errorf("%d granted, application %+v", len(r.Grants), r.App)
		}
		ask.Facts = nil
		if r := u.admit(ask); len(r.Grants) != 2 {
			u.Errorf("%d granted, want the 2 that the method has left", len(r.Grants))
		}
	}},
	{"as many demands, wants, reports and facts as are allowed", func(u *user) {
		u.know("100000:10")
		ask := asking("a")
		for i := range limit.MostDemands {
			m := string(rune('A' + i))
			ask.Demands = append(ask.Demands, want(m, limit.MostWanted))
			ask.Facts = append(ask.Facts, passed(m, "60:10"))
		}
		r := u.admit(ask)
		if n := limit.MostWanted; len(r.Grants) != n { // of the application's room
			u.Fatalf("%d granted, want %d", len(r.Grants), n)
		}
		ask = asking("a", want("A", 1))
		for _, g := range r.Grants[:limit.MostDone] {
			ask.Done = append(ask.Done, limit.Done{Stub: g.Stub, Unsent: true})
		}
		for range limit.MostFacts {
			ask.Facts = append(ask.Facts, passed("A", "60:10"))
		}
		if r = u.admit(ask); len(r.Grants) != 1 || r.App.Windows[0].Used != 1 {
			u.Errorf("after all was given back: %d granted, %+v", len(r.Grants), r.App)
		}
	}},
}
