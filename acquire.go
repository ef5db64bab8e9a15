package riftrelay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
	"riftrelay/route"
)

// waiter is a caller of Acquire in a queue. Its outcome is written once, by
// whoever takes it out of the queue.
type waiter struct {
	sched.Waiter
	done  chan outcome // capacity 1
	timer *time.Timer
}

type outcome struct {
	permit  *sched.Permit // nil: refused
	refusal sched.Refusal
}

// deadline returns the latest start that a call of these options allows; zero
// means any.
func (l *Limiter) deadline(ctx context.Context, o *Options) (at time.Time) {
	wait := o.MaxWait
	if wait == 0 {
		wait = l.cfg.AdmissionTimeout
	} else if wait < 0 && l.cluster != nil {
		wait = storePatience
	} else if wait < 0 {
		return l.epoch
	}
	if wait > 0 {
		at = time.Now().Add(wait)
	}
	if d, ok := ctx.Deadline(); ok && (at.IsZero() || d.Before(at)) {
		at = d
	}
	return at
}

// acquire is Acquire with the deadline of all tries, of which this is the n-th,
// from 1. Later ones go before those who wait.
func (l *Limiter) acquire(ctx context.Context, r route.Route, o *Options, deadline time.Time, try int) (Permit, error) {
	if o.Key.Value != "" && (r.Method == nil || r.Method.Auth != route.AuthRSO) {
		return l.acquireOn(ctx, o.Key.Value, r, o, deadline, try)
	}
	return l.admit(ctx, r, o, deadline, try)
}

// admit is acquire once it is clear on which keys the call may go.
func (l *Limiter) admit(ctx context.Context, r route.Route, o *Options, deadline time.Time, try int) (Permit, error) {
	e := AdmissionEvent{Route: r, Priority: o.Priority, Budget: l.knownBudget(o.Budget), Try: try}
	if ctx.Err() != nil {
		e.Outcome = OutcomeCanceled
		l.tell(ctx, e)
		return Permit{}, ended(ctx)
	}
	l.mu.Lock()
	req, err := l.request(r, o, deadline, try > 1)
	if err != nil {
		l.mu.Unlock()
		e.Reason = err.Reason
		l.tell(ctx, e)
		return Permit{}, err
	}
	now := l.now()
	w := l.takeWaiter()
	p, refusal := l.machine.Enqueue(now, &w.Waiter, req)
	if p == nil && refusal.Reason == sched.None {
		l.poll(now)
		p, refusal = l.afterPoll(now, w, req)
	}
	if p != nil || refusal.Reason != sched.None {
		l.giveBack(w)
		permit, why := l.permit(p), Wait{}
		if p == nil {
			why = l.whyRefused(now, req, refusal)
		}
		l.unlock()
		if p == nil {
			return Permit{}, l.reject(ctx, e, o, refusal, why, now, nil)
		}
		e.Key = permit.Key()
		l.tell(ctx, e)
		return permit, nil
	}
	l.unlock()
	return l.wait(ctx, w, e, o, req, now)
}

// afterPoll looks what became of a waiter that was enqueued just now. A call
// that wants to go now or never doesn't stay. l.mu is held.
func (l *Limiter) afterPoll(now limit.Instant, w *waiter, req sched.Request) (*sched.Permit, sched.Refusal) {
	select {
	case out := <-w.done:
		return out.permit, out.refusal
	default:
	}
	if req.Deadline > now {
		return nil, sched.Refusal{}
	}
	l.machine.Cancel(&w.Waiter)
	refusal := l.machine.Estimate(now, req, 1)
	refusal.Reason = sched.Deadline
	return nil, refusal
}

// wait is the part of acquire that waits; e is what there is to tell of it.
func (l *Limiter) wait(ctx context.Context, w *waiter, e AdmissionEvent, o *Options, req sched.Request, since limit.Instant) (Permit, error) {
	var out outcome
	decided := false
	select {
	case out = <-w.done:
		decided = true
	case <-w.expiry(req.Deadline, since):
	case <-ctx.Done():
	}
	w.stop()
	gone := !decided && context.Cause(ctx) != nil

	l.mu.Lock()
	now := l.now()
	if !decided {
		if l.machine.Cancel(&w.Waiter) {
			out.refusal = l.machine.Refused(now, req)
			out.refusal.Reason = timedOut
		} else if out = <-w.done; gone && out.permit != nil {
			// Granted in the very moment that nobody wanted it any longer.
			l.machine.Release(now, out.permit)
			l.poll(now)
			out.permit = nil
		}
	}
	l.giveBack(w)
	permit, why := l.permit(out.permit), Wait{}
	if gone && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		out.refusal.Reason = timedOut
	}
	if out.permit == nil {
		why = l.whyRefused(now, req, out.refusal)
	}
	l.unlock()

	e.Waited = now.Sub(since)
	switch err := ctx.Err(); {
	case permit.p != nil:
		e.Key = permit.Key()
		l.tell(ctx, e)
		return permit, nil
	case gone && !errors.Is(err, context.DeadlineExceeded):
		e.Outcome = OutcomeCanceled
		l.tell(ctx, e)
		return Permit{}, ended(ctx)
	}
	return Permit{}, l.reject(ctx, e, o, out.refusal, why, now, ended(ctx))
}

// expiry returns a channel that delivers at the deadline; nil without one.
func (w *waiter) expiry(deadline, now limit.Instant) <-chan time.Time {
	if deadline == limit.Never {
		return nil
	}
	if w.timer == nil {
		w.timer = time.NewTimer(deadline.Sub(now))
	} else {
		w.timer.Reset(deadline.Sub(now))
	}
	return w.timer.C
}

func (w *waiter) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// takeWaiter returns a waiter that nobody uses. l.mu is held.
func (l *Limiter) takeWaiter() *waiter {
	n := len(l.spare)
	if n == 0 {
		w := &waiter{done: make(chan outcome, 1)}
		w.Data = w
		return w
	}
	w := l.spare[n-1]
	l.spare[n-1] = nil
	l.spare = l.spare[:n-1]
	return w
}

// maxSpare bounds the waiters kept for later use: a burst leaves no memory
// behind.
const maxSpare = 1024

func (l *Limiter) giveBack(w *waiter) {
	if len(l.spare) < maxSpare {
		l.spare = append(l.spare, w)
	}
}

// granted is told by the machine of a waiter that may go. l.mu is held.
func (l *Limiter) granted(w *sched.Waiter, p *sched.Permit) {
	w.Data.(*waiter).done <- outcome{permit: p}
}

// request checks what the caller asks for and puts it in the machine's terms.
// l.mu is held.
func (l *Limiter) request(r route.Route, o *Options, deadline time.Time, front bool) (sched.Request, *RejectedError) {
	if r.Method == nil || r.Host == "" {
		return sched.Request{}, &RejectedError{Reason: ReasonInvalidRoute, Detail: "the route is empty; allowed: one that route.Table.Match gave"}
	}
	req := sched.Request{
		Host: r.Host, Method: r.Method.String(), Keyless: r.Method.Auth == route.AuthRSO,
		High: o.Priority == High, Client: o.Client, Pin: -1, Deadline: limit.Never, Front: front,
	}
	if !deadline.IsZero() {
		req.Deadline = limit.Instant(deadline.Sub(l.epoch))
	}
	keys := l.keys.Load()
	if o.Key.Value == "" && o.Key.Name != "" {
		if req.Pin = keys.named(o.Key.Name); req.Pin < 0 {
			return req, &RejectedError{
				Reason: ReasonUnknownKey, Route: r,
				Detail: fmt.Sprintf("key %.100q; allowed: %s", o.Key.Name, keys.names(0, len(keys.groups))),
			}
		}
	}
	var known bool
	if req.Budget, known = l.budget(o.Budget); !known {
		return req, &RejectedError{
			Reason: ReasonInvalidBudget, Route: r,
			Detail: fmt.Sprintf("budget %.100q; allowed: %s", o.Budget, l.budgetNames()),
		}
	}
	req.Budget = l.budgets.on(req.Budget, r)
	req.Unbound = req.High && req.Budget > 0 && !o.HardBudget && !l.isHard(req.Budget)
	req.Group = l.grouping.of(r, o)
	if o.own != nil {
		rejected := l.requestOn(o.own, &req)
		return req, rejected
	}
	if req.Pin >= 0 && l.groups[req.Pin] != req.Group {
		return req, &RejectedError{
			Reason: ReasonUnknownKey, Route: r,
			Detail: fmt.Sprintf("key %s is not in the group of keys for this call; allowed: %s", o.Key.Name, keys.names(req.Group, req.Group+1)),
		}
	}
	if c := o.choice; c != nil {
		req.First = c.first && c.only == nil
		if c.only != nil {
			if req.Pin = keys.place(c.only.id); req.Pin < 0 {
				return req, &RejectedError{Reason: ReasonNoKey, Route: r, Detail: "key " + c.only.Name + " is no longer in use"}
			}
		}
	}
	return req, nil
}

// requestOn puts the key that a call brought along in the machine's terms.
func (l *Limiter) requestOn(k *callKey, req *sched.Request) *RejectedError {
	if k.slot < 0 {
		req.Pin = l.keys.Load().place(k.id)
	}
	if k.gone || k.slot < 0 && req.Pin < 0 {
		return &RejectedError{Reason: ReasonNoKey, Detail: "key " + k.Name + " is no longer in use"} // for acquireOn alone
	}
	return nil
}
