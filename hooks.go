package riftrelay

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"riftrelay/route"
)

// Hooks are functions that the Limiter and the Transport call: for metrics,
// traces and logs. Nil ones are left out. They are called without any lock held,
// from many goroutines, and hold up what they are told of: they should return at
// once. They may call any method of the Limiter. A panic in them ends nothing
// else: it is logged with its stack (Config.Logger) and counted
// (Snapshot.HookPanics).
type Hooks struct {
	// Admission is called at the end of every wait for admission: once for
	// each try of a call, also where there was nothing to wait for. ctx is that
	// of the call.
	Admission func(ctx context.Context, e AdmissionEvent)
	// Answer is called once for every call that was admitted, when the head of
	// Riot's answer has come, or failed to. Only Transport calls it. ctx is
	// that of the call.
	Answer func(ctx context.Context, e AnswerEvent)
	// Change is called when a limit, a key or a cool-down has changed: see
	// ChangeKind. The calls come one at a time, in the order of the changes.
	Change func(e ChangeEvent)
}

// AdmissionEvent is the end of one wait for admission. Its Route always has a
// Method: that of a call which goes nowhere has the Template "{unknown}".
type AdmissionEvent struct {
	At       time.Time   // when it ended
	Route    route.Route // Host is empty when the call had no route
	Priority Priority
	Budget   string        // name as configured; empty for none, and for one that isn't configured
	Key      string        // name; empty when rejected or without a key (RSO)
	Try      int           // of the call, from 1; 0 when the call had no route
	Waited   time.Duration // 0 when decided at once
	Outcome  Outcome
	Reason   Reason // of OutcomeRejected
}

// Outcome is how a wait for admission ended.
type Outcome string

// The outcomes.
const (
	OutcomeAdmitted Outcome = "admitted"
	OutcomeRejected Outcome = "rejected"
	OutcomeCanceled Outcome = "canceled" // the caller's context ended
)

// AnswerEvent is the end of one try at Riot.
type AnswerEvent struct {
	At       time.Time // when the head of the answer had come, or failed to
	Route    route.Route
	Priority Priority
	Key      string        // name; empty without a key (RSO)
	Try      int           // of the call, from 1
	Status   int           // 0 when there was no answer
	Kind     LimitKind     // of a 429
	Own      bool          // the 429 is our violation, not Riot's own trouble
	Duration time.Duration // from admission to the head of the answer, or to the failure
	Err      error         // why there was no answer
	Retry    bool          // another try follows
}

// JoinHooks returns hooks that call all of these in turn. Each is called even if
// one before it panics.
func JoinHooks(hooks ...Hooks) Hooks {
	var joined Hooks
	for i := len(hooks) - 1; i >= 0; i-- {
		joined = Hooks{
			Admission: both(hooks[i].Admission, joined.Admission),
			Answer:    both(hooks[i].Answer, joined.Answer),
			Change:    bothChanges(hooks[i].Change, joined.Change),
		}
	}
	return joined
}

func both[E any](first, then func(context.Context, E)) func(context.Context, E) {
	if first == nil || then == nil {
		if first == nil {
			return then
		}
		return first
	}
	return func(ctx context.Context, e E) {
		defer then(ctx, e)
		first(ctx, e)
	}
}

func bothChanges(first, then func(ChangeEvent)) func(ChangeEvent) {
	if first == nil || then == nil {
		if first == nil {
			return then
		}
		return first
	}
	return func(e ChangeEvent) {
		defer then(e)
		first(e)
	}
}

// unknownRoute stands for the route of a call that goes nowhere.
var unknownRoute = route.Route{Method: &route.Method{Template: route.UnknownTemplate, Service: "unknown"}}

// tell passes an event on to the hooks, outside the lock.
func (l *Limiter) tell(ctx context.Context, e AdmissionEvent) {
	if l.cfg.Hooks.Admission != nil {
		defer l.contain("Admission")
		e.At = time.Now()
		if e.Route.Method == nil {
			e.Route = unknownRoute
		}
		switch {
		case e.Outcome != "":
		case e.Reason != "":
			e.Outcome = OutcomeRejected
		default:
			e.Outcome = OutcomeAdmitted
		}
		l.cfg.Hooks.Admission(ctx, e)
	}
}

func (l *Limiter) tellAnswer(ctx context.Context, e AnswerEvent) {
	if l.cfg.Hooks.Answer != nil {
		defer l.contain("Answer")
		l.cfg.Hooks.Answer(ctx, e)
	}
}

func (l *Limiter) tellChange(e ChangeEvent) {
	defer l.contain("Change")
	l.cfg.Hooks.Change(e)
}

// contain, deferred, ends a panic of a hook. It logs the 1st, 2nd, 4th, 8th one
// and so on: a hook may panic for every call.
func (l *Limiter) contain(hook string) {
	p := recover()
	if p == nil {
		return
	}
	if n := l.hookPanics.Add(1); n&(n-1) == 0 {
		log := l.cfg.Logger
		if log == nil {
			log = slog.Default()
		}
		log.Error("a hook panicked", "hook", hook, "panic", fmt.Sprint(p), "panics", n, "stack", string(debug.Stack()))
	}
}
