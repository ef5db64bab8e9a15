package limittest

import (
	"time"

	"riftrelay/internal/limit"
)

// stops are the promises of what a 429 does.
var stops = []promise{
	{"a method's stop stops the method, for all replicas", func(u *user) {
		u.know(wide, "m", wide, "n", wide)
		u.teach(limit.Fact{Method: "m", Stop: 500 * time.Millisecond, Cause: limit.Method})
		r := u.admit(asking("b", want("m", 1), want("n", 3)))
		if len(r.Grants) != 3 || r.Grants[0].Demand != 1 || r.Waits[0].Why != limit.WaitStop {
			u.Errorf("%d granted, %+v", len(r.Grants), r.Waits)
		}
		if v := r.Views[0]; v.Cause != limit.Method || v.Stop < 499*time.Millisecond-u.Slack || v.Stop > 501*time.Millisecond {
			u.Errorf("%+v", v)
		}
		if r.App.Stop > 0 || r.Views[1].Stop > 0 {
			u.Errorf("others are stopped: %+v, %+v", r.App, r.Views[1])
		}
	}},
	{"an application's stop stops all its methods", func(u *user) {
		u.know(wide, "m", wide, "n", wide)
		u.teach(limit.Fact{Stop: 500 * time.Millisecond, Cause: limit.Application})
		u.mustWait("a", "m", limit.WaitStop)
		u.mustWait("b", "n", limit.WaitStop)
		u.Wait(490*time.Millisecond - u.Slack)
		u.mustWait("b", "n", limit.WaitStop)
	}},
	{"stops are not summed: the latest end counts", func(u *user) {
		u.know(wide, "m", wide)
		u.teach(limit.Fact{Method: "m", Stop: 800 * time.Millisecond, Cause: limit.Method}, limit.Fact{Method: "m", Stop: 300 * time.Millisecond, Cause: limit.Service})
		if v := u.admit(asking("a", want("m", 1))).Views[0]; v.Cause != limit.Method || v.Stop > 801*time.Millisecond || v.Stop < 799*time.Millisecond-u.Slack {
			u.Errorf("%+v", v)
		}
	}},
	{"after a stop one goes alone, and its success lets the others go", func(u *user) {
		u.know(wide, "m", wide)
		u.teach(limit.Fact{Method: "m", Stop: 300 * time.Millisecond, Cause: limit.Method})
		u.Wait(310 * time.Millisecond)
		permits := u.mustGrant("a", "m", 10, 1)
		u.mustWait("b", "m", limit.WaitAlone)
		u.Wait(20 * time.Millisecond)
		u.sent(0, permits...)
		u.teach(limit.Fact{Method: "m", Passed: true, Counted: true, SentAgo: 10 * time.Millisecond})
		u.mustGrant("b", "m", 10, 10)
	}},
	{"the success of a call sent before a stop proves nothing", func(u *user) {
		u.know(wide, "m", wide)
		u.Wait(50 * time.Millisecond)
		u.teach(limit.Fact{Method: "m", Stop: 300 * time.Millisecond, Cause: limit.Method})
		u.Wait(310 * time.Millisecond)
		u.teach(limit.Fact{Method: "m", Passed: true, Counted: true, SentAgo: 350 * time.Millisecond})
		u.mustGrant("a", "m", 10, 1)
	}},
	{"permits of before a stop that come back unsent don't take the turn of the one that goes alone", func(u *user) {
		u.know(wide, "m", wide)
		before := u.mustGrant("a", "m", 3, 3)
		u.Wait(5 * time.Millisecond)
		u.teach(limit.Fact{Method: "m", Stop: 300 * time.Millisecond, Cause: limit.Method})
		u.Wait(310 * time.Millisecond)
		u.mustGrant("b", "m", 10, 1)
		u.report(limit.Done{Stub: before[0].Stub, Unsent: true}, limit.Done{Stub: before[1].Stub, Unsent: true})
		u.mustWait("a", "m", limit.WaitAlone)
	}},
	{"a failure leaves the next one to go alone", func(u *user) {
		u.know(wide, "m", wide)
		u.teach(limit.Fact{Method: "m", Stop: 300 * time.Millisecond, Cause: limit.Service})
		u.Wait(310 * time.Millisecond)
		u.mustGrant("a", "m", 10, 1)
		u.teach(limit.Fact{Method: "m"})
		u.mustGrant("b", "m", 10, 1)
	}},
	{"a stop that comes with an Ask holds for it", func(u *user) {
		u.know(wide, "m", wide)
		ask := asking("a", want("m", 1))
		ask.Facts = []limit.Fact{{Method: "m", Stop: time.Second, Cause: limit.Method}}
		if r := u.admit(ask); len(r.Grants) > 0 {
			u.Error("granted against the stop that came with it")
		}
	}},
}
