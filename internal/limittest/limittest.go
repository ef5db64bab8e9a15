// Package limittest is the contract of limit.Store as tests: whoever writes a
// store runs them against it, as does this project with its own.
//
//	func TestStore(t *testing.T) {
//		limittest.Run(t, func(t testing.TB) limittest.Harness { … })
//	}
//
// Run has a subtest for each promise of the interface's comments. Replay and
// Check play whole histories, and compare each answer with that of Model, which
// is a list of charges and a loop.
package limittest

import (
	"context"
	"slices"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// Harness is an empty store under test, and the time in it.
type Harness struct {
	Store limit.Store

	// Wait lets time pass in the store: a clock that is set, or a sleep.
	Wait func(time.Duration)

	// Now tells the store's time since whenever. Replay and Check need it to be
	// exact; Run doesn't ask.
	Now func() time.Duration

	// Slack is by how much time may go on while nothing is waited for, between
	// one call and the next few; 0 for a clock that is set.
	Slack time.Duration

	// Lose has the store forget everything, as one does that is restarted
	// empty; nil if it can't.
	Lose func()
}

// Run holds a store to its contract. Each subtest gets a harness of its own.
func Run(t *testing.T, harness func(t testing.TB) Harness) {
	for _, p := range slices.Concat(charges, limits, stops, fairness, paces, merges, replicas) {
		t.Run(p.name, func(t *testing.T) { p.test(&user{T: t, Harness: harness(t)}) })
	}
}

// promise is one sentence of the contract.
type promise struct {
	name string
	test func(u *user)
}

// user talks to a store, and fails the test where it doesn't keep to its word.
type user struct {
	*testing.T
	Harness
	asked int // questions of the last compete
}

const (
	margin = 20 * time.Millisecond // J of all askers
	settle = 300 * time.Millisecond
)

var budget = limit.Budget{Key: "0123456789abcdef", Host: "euw1"}

// want is a demand for calls of normal priority.
func want(method string, n int) limit.Demand {
	return limit.Demand{Method: method, Want: [2]int{n, 0}}
}

// wantHigh is one for calls of high priority.
func wantHigh(method string, n int) limit.Demand {
	return limit.Demand{Method: method, Want: [2]int{0, n}}
}

// asking is an Ask of a replica that needs no pacing.
func asking(replica string, demands ...limit.Demand) *limit.Ask {
	return &limit.Ask{Budget: budget, Replica: replica, Demands: demands, Burst: 1, Margin: margin}
}

// admit puts a question that has to be answered.
func (u *user) admit(ask *limit.Ask) limit.Reply {
	u.Helper()
	r, err := u.Store.Admit(context.Background(), ask)
	if err != nil {
		u.Fatal(err)
	}
	if err := r.Check(ask); err != nil {
		u.Fatal(err)
	}
	return r
}

// grants asks for n calls of method m and returns the permits.
func (u *user) grants(replica string, n int) []limit.Grant {
	u.Helper()
	return u.admit(asking(replica, want("m", n))).Grants
}

// mustGrant asks for n calls of a method, of which so many have to be granted.
func (u *user) mustGrant(replica, method string, n, granted int) []limit.Grant {
	u.Helper()
	r := u.admit(asking(replica, want(method, n)))
	if len(r.Grants) != granted {
		u.Fatalf("%d of %d calls granted to %s, want %d; %+v, application %+v, method %+v", len(r.Grants), n, replica, granted, r.Waits, r.App, r.Views)
	}
	return r.Grants
}

// mustWait asks for a call that can't go and returns the wait.
func (u *user) mustWait(replica, method string, why limit.WaitKind) limit.Wait {
	u.Helper()
	r := u.admit(asking(replica, want(method, 1)))
	if len(r.Grants) > 0 || r.Waits[0].Why != why {
		u.Fatalf("%d granted, %+v; want a wait of kind %d", len(r.Grants), r.Waits, why)
	}
	return r.Waits[0]
}

// report tells what became of permits.
func (u *user) report(done ...limit.Done) {
	u.Helper()
	ask := asking("reporter")
	ask.Done = done
	u.admit(ask)
}

// sent tells that permits were used, and Riot has counted them ago.
func (u *user) sent(ago time.Duration, permits ...limit.Grant) {
	u.Helper()
	done := make([]limit.Done, len(permits))
	for i, g := range permits {
		done[i] = limit.Done{Stub: g.Stub, Ago: ago}
	}
	u.report(done...)
}

// teach tells what answers taught.
func (u *user) teach(facts ...limit.Fact) {
	u.Helper()
	ask := asking("teacher")
	ask.Facts = facts
	u.admit(ask)
}

// passed is what a call teaches that was answered with 200 and limits such as
// "10:1".
func passed(method, limits string) limit.Fact {
	return limit.Fact{Method: method, Passed: true, Counted: true, Limits: quotas(limits)}
}

func quotas(s string) []limit.Quota {
	if s == "" {
		return nil
	}
	list, err := limit.ParseQuotas(s)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return list
}

// wide is a limit that doesn't matter.
const wide = "100000:10"

// know has the limits of the application and of methods known, with no call made.
func (u *user) know(app string, methods ...string) {
	u.Helper()
	u.admit(asking("teacher"))
	u.Wait(settle)
	facts := []limit.Fact{passed("", app)}
	for i := 0; i < len(methods); i += 2 {
		facts = append(facts, passed(methods[i], methods[i+1]))
	}
	u.teach(facts...)
	u.Wait(2 * time.Millisecond) // what is granted in the very millisecond that teaches is charged longest
}
