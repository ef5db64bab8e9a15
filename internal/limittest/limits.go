package limittest

import (
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// limits are the promises of what answers teach.
var limits = []promise{
	{"a new budget waits J before its first call", func(u *user) {
		ask := asking("a", want("m", 1))
		ask.Margin = 200 * time.Millisecond
		r := u.admit(ask)
		if len(r.Grants) > 0 || r.Waits[0].Why != limit.WaitStop || r.Waits[0].In < ask.Margin {
			u.Errorf("%d granted, %+v; want a wait of 200ms or more", len(r.Grants), r.Waits)
		}
		u.Wait(r.Waits[0].In)
		if r = u.admit(ask); len(r.Grants) != 1 {
			u.Errorf("%d granted after the wait: %+v", len(r.Grants), r.Waits)
		}
	}},
	{"unknown scopes let calls go one by one until an answer tells", func(u *user) {
		u.admit(asking("a"))
		u.Wait(settle)
		permits := u.mustGrant("a", "m", 5, 1)
		u.mustWait("a", "m", limit.WaitAlone)
		u.mustWait("b", "n", limit.WaitAlone) // the application is unknown as well
		u.sent(0, permits...)
		u.teach(passed("", "10:1"), passed("m", wide))
		if got := u.admit(asking("a", want("m", 20))); len(got.Grants) != 9 || !got.App.Known || got.App.Solo {
			u.Errorf("%d granted, want 10 less the one that went alone: %+v", len(got.Grants), got.App)
		}
	}},
	{"the next call goes alone when the one before was never sent", func(u *user) {
		u.admit(asking("a"))
		u.Wait(settle)
		permits := u.mustGrant("a", "m", 5, 1)
		u.report(limit.Done{Stub: permits[0].Stub, Unsent: true})
		u.mustGrant("b", "m", 5, 1)
	}},
	{"the others wait a second and a half for the one that went alone, not forever", func(u *user) {
		u.admit(asking("a"))
		u.Wait(settle)
		u.mustGrant("a", "m", 5, 1)
		u.Wait(1400*time.Millisecond - u.Slack)
		u.mustWait("b", "m", limit.WaitAlone)
		u.Wait(110*time.Millisecond + u.Slack)
		u.mustGrant("b", "m", 5, 1)
	}},
	{"what is assumed of an application holds until an answer tells", func(u *user) {
		ask := asking("a", want("m", 5))
		ask.Assumed = quotas("2:1")
		u.admit(ask)
		u.Wait(settle)
		for i := range 3 {
			r := u.admit(ask)
			if n := len(r.Grants); n != []int{1, 1, 0}[i] {
				u.Fatalf("ask %d: %d granted, %+v", i, n, r.Waits)
			}
			for _, g := range r.Grants { // answered without headers
				ask.Done = []limit.Done{{Stub: g.Stub}}
				ask.Facts = []limit.Fact{{Passed: true}, {Method: "m", Passed: true}}
			}
		}
	}},
	{"a scope that says nothing three times has no limits", func(u *user) {
		u.know(wide)
		for range 3 {
			u.sent(0, u.mustGrant("a", "m", 5, 1)...)
			u.teach(limit.Fact{Method: "m", Passed: true, Counted: true})
		}
		u.mustGrant("a", "m", 50, 50)
	}},
	{"a raised limit counts at once", func(u *user) {
		u.know("2:1", "m", wide)
		u.mustGrant("a", "m", 5, 2)
		u.teach(passed("", "5:1"))
		u.mustGrant("a", "m", 5, 3)
	}},
	{"a lowered limit counts at once, and charges stay", func(u *user) {
		u.know("5:1", "m", wide)
		u.sent(0, u.mustGrant("a", "m", 4, 4)...)
		u.teach(passed("", "3:1"))
		u.mustWait("a", "m", limit.WaitCharges)
		u.Wait(1010 * time.Millisecond)
		u.mustGrant("a", "m", 5, 3)
	}},
	{"a header without a window removes it, no header removes nothing", func(u *user) { // R12
		u.know("3:1,5:10", "m", wide)
		u.mustGrant("a", "m", 9, 3)
		u.teach(limit.Fact{Passed: true, Counted: true})
		u.mustWait("a", "m", limit.WaitCharges)
		u.teach(passed("", "5:10"))
		u.mustGrant("a", "m", 9, 2)
	}},
	{"windows are told apart by their length, in whatever order", func(u *user) { // R11
		u.know("3:1,8:10", "m", wide)
		u.mustGrant("a", "m", 9, 3)
		for _, order := range [][]limit.Quota{quotas("3:1,8:10"), quotas("8:10,3:1")} {
			slices.Reverse(order)
			u.teach(limit.Fact{Passed: true, Counted: true, Limits: order})
			u.mustWait("a", "m", limit.WaitCharges)
		}
		v := u.admit(asking("a")).App
		if len(v.Windows) != 2 || v.Windows[0].N != 3 || v.Windows[0].W != time.Second || v.Windows[1].N != 8 || v.Windows[1].Used != 3 {
			u.Errorf("%+v", v.Windows)
		}
	}},
	{"a new window is charged with what Riot has counted, and with the calls under way", func(u *user) {
		u.know("10:1", "m", wide)
		u.mustGrant("a", "m", 4, 4)
		f := passed("", "10:1,20:10,6:5")
		f.Counts = []limit.Quota{{N: 4, W: time.Second}, {N: 7, W: 10 * time.Second}, {N: 1, W: 5 * time.Second}}
		u.teach(f)
		v := u.admit(asking("a")).App
		if len(v.Windows) != 3 || v.Windows[1].Used != 4 || v.Windows[2].Used != 7 {
			u.Errorf("%+v; want 4 and 7 used in 5s and 10s", v.Windows)
		}
		u.mustGrant("a", "m", 9, 2)
	}},
	{"an answer to an older call tells no limits", func(u *user) { // R6
		u.know("5:1", "m", wide)
		u.Wait(100 * time.Millisecond)
		u.teach(passed("", "2:1"))
		old := passed("", "9:1")
		old.SentAgo = 50 * time.Millisecond
		u.teach(old)
		u.mustGrant("a", "m", 9, 2)
	}},
	{"violations halve the limits for all", func(u *user) {
		u.know("20:1", "m", wide)
		f := passed("", "20:1")
		f.Level = 2
		u.teach(f)
		if v := u.admit(asking("b")).App; v.Level != 2 {
			u.Errorf("level %d, want 2", v.Level)
		}
		u.mustGrant("b", "m", 20, 5)
	}},
	{"calls of others take room, and have bursts stopped", func(u *user) {
		u.know("40:2", "m", wide)
		first := u.admit(asking("a", want("m", 4)))
		if len(first.Grants) != 4 {
			u.Fatal(len(first.Grants))
		}
		u.Wait(50 * time.Millisecond)
		u.sent(0, first.Grants...)
		tell := func(count string, r limit.Reply) {
			f := passed("", "40:2")
			f.Counts, f.Bases, f.SentAgo = quotas(count), r.App.Bases(), 40*time.Millisecond
			u.teach(f)
		}
		tell("10:2", first)
		v := u.admit(asking("a")).App.Windows[0]
		if v.Used != 4 || v.Others != 6 {
			u.Fatalf("%+v; want 4 of our own and 6 of others", v)
		}
		next := u.admit(asking("a", want("m", 30)))
		if n := len(next.Grants); n > 1 {
			u.Errorf("%d went at once, want a burst no more", n)
		}
		u.Wait(500 * time.Millisecond)
		next = u.admit(asking("a", wantHigh("m", 1)))
		u.Wait(50 * time.Millisecond)
		u.sent(0, next.Grants...)
		tell("17:2", next)
		// Five of theirs in half a second or so: while a count is to come as many
		// again are expected, and some more.
		u.Wait(500 * time.Millisecond)
		u.admit(asking("a", wantHigh("m", 1)))
		high := u.admit(asking("a", wantHigh("m", 40)))
		used := high.App.Windows[0]
		if used.Used+used.Others > 40-5 || used.Used+used.Others < 20 || len(high.Grants) < 1 {
			u.Errorf("%d granted, %+v; want some, and a reserve of others of 10 or so", len(high.Grants), used)
		}
	}},
	{"permits of before a window was known are charged in it once", func(u *user) {
		u.know("10:1", "m", wide)
		permits := u.mustGrant("a", "m", 4, 4)
		u.Wait(5 * time.Millisecond)
		f := passed("", "10:1,20:10")
		f.Counts = []limit.Quota{{N: 4, W: 10 * time.Second}}
		u.teach(f)
		u.sent(0, permits...)
		if v := u.admit(asking("a")).App; v.Windows[1].Used != 4 {
			u.Errorf("%+v; want 4 used", v.Windows)
		}
	}},
	{"what came back unsent hides no calls of others", func(u *user) {
		u.know("20:2", "m", wide)
		first := u.admit(asking("a", want("m", 1)))
		for _, g := range u.mustGrant("a", "m", 2, 2) {
			u.report(limit.Done{Stub: g.Stub, Unsent: true})
		}
		f := passed("", "20:2")
		f.Counts, f.Bases = quotas("4:2"), first.App.Bases()
		u.teach(f)
		if v := u.admit(asking("a")).App.Windows[0]; v.Others != 3 {
			u.Errorf("%+v; want 3 of others", v)
		}
	}},
	{"own calls are nobody else's, whatever Riot counts", func(u *user) {
		u.know("20:2", "m", wide)
		first := u.admit(asking("a", want("m", 4)))
		u.admit(asking("b", want("m", 4)))
		f := passed("", "20:2")
		f.Counts = quotas("8:2")
		f.Bases = first.App.Bases()
		u.teach(f)
		if v := u.admit(asking("a")).App.Windows[0]; v.Others != 0 || v.Used != 8 {
			u.Errorf("%+v; want 8 of our own", v)
		}
	}},
}
