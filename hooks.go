package riftrelay

import (
	"context"
	"fmt"
	"time"

	"riftrelay/route"
)

// Hooks hear of what the Limiter and the Transport do: for metrics, traces and
// logs. They are called without any lock held, from many goroutines, and hold
// up what they are told of: they should return at once. They may call any
// method of the Limiter. A panic in them is contained: it is counted
// (Snapshot.HookPanics), and what was going on goes on.
//
// HookFuncs are Hooks of which one wants but a few, MultiHooks are several, and
// LogHooks write a log.
type Hooks interface {
	// Admission is called at the end of every wait for admission: once for
	// each try of a call, also where there was nothing to wait for. ctx is that
	// of the call.
	Admission(ctx context.Context, e AdmissionEvent)
	// Answer is called once for every call that was admitted, when the head of
	// Riot's answer has come, or failed to. Only Transport calls it. ctx is
	// that of the call.
	Answer(ctx context.Context, e AnswerEvent)
	// Change is called when a limit, a key or a cool-down has changed: see
	// ChangeKind. The calls come one at a time, in the order of the changes.
	Change(e ChangeEvent)
}

// AdmissionEvent is the end of one wait for admission.
type AdmissionEvent struct {
	At       time.Time   // when it ended
	Route    route.Route // zero when the call had none
	Priority Priority
	Budget   string        // name as configured; empty for none, and for one that isn't configured
	Key      string        // name; empty when rejected or without a key (RSO)
	Try      int           // of the call, from 1; 0 when the call had no route
	Waited   time.Duration // 0 when decided at once
	Reason   Reason        // of a rejection; empty when admitted
	Gone     bool          // the caller's context ended: neither admitted nor rejected
}

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

// HookFuncs are Hooks made of functions. Those that are nil hear of nothing.
type HookFuncs struct {
	OnAdmission func(context.Context, AdmissionEvent)
	OnAnswer    func(context.Context, AnswerEvent)
	OnChange    func(ChangeEvent)
}

// Admission calls OnAdmission.
func (h HookFuncs) Admission(ctx context.Context, e AdmissionEvent) {
	if h.OnAdmission != nil {
		h.OnAdmission(ctx, e)
	}
}

// Answer calls OnAnswer.
func (h HookFuncs) Answer(ctx context.Context, e AnswerEvent) {
	if h.OnAnswer != nil {
		h.OnAnswer(ctx, e)
	}
}

// Change calls OnChange.
func (h HookFuncs) Change(e ChangeEvent) {
	if h.OnChange != nil {
		h.OnChange(e)
	}
}

// MultiHooks are several, called in this order, each also if one before it
// panics. Nil ones are left out; of none at all, the result is nil.
func MultiHooks(hooks ...Hooks) Hooks {
	var all multiHooks
	for _, h := range hooks {
		if h != nil {
			all = append(all, h)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

type multiHooks []Hooks

func (m multiHooks) Admission(ctx context.Context, e AdmissionEvent) {
	if len(m) > 0 {
		defer m[1:].Admission(ctx, e)
		m[0].Admission(ctx, e)
	}
}

func (m multiHooks) Answer(ctx context.Context, e AnswerEvent) {
	if len(m) > 0 {
		defer m[1:].Answer(ctx, e)
		m[0].Answer(ctx, e)
	}
}

func (m multiHooks) Change(e ChangeEvent) {
	if len(m) > 0 {
		defer m[1:].Change(e)
		m[0].Change(e)
	}
}

// tell passes an event on to the hooks, outside the lock.
func (l *Limiter) tell(ctx context.Context, e AdmissionEvent) {
	if l.cfg.Hooks != nil {
		defer l.contain("Admission")
		e.At = time.Now()
		l.cfg.Hooks.Admission(ctx, e)
	}
}

func (l *Limiter) tellAnswer(ctx context.Context, e AnswerEvent) {
	if l.cfg.Hooks != nil {
		defer l.contain("Answer")
		l.cfg.Hooks.Answer(ctx, e)
	}
}

func (l *Limiter) tellChange(e ChangeEvent) {
	defer l.contain("Change")
	l.cfg.Hooks.Change(e)
}

// contain, deferred, ends a panic of a hook.
func (l *Limiter) contain(hook string) {
	if p := recover(); p != nil {
		l.hookPanics.Add(1)
		said := fmt.Sprintf("%s: %v", hook, p)
		l.hookPanic.Store(&said)
	}
}
