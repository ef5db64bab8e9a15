package riftrelay

import (
	"context"
	"fmt"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
	"riftrelay/route"
)

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
				return req, &RejectedError{Reason: ReasonNoKey, Route: r, Detail: "key " + c.only.Name + " is in use no more"}
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
		return &RejectedError{Reason: ReasonNoKey, Detail: "key " + k.Name + " is in use no more"} // for acquireOn alone
	}
	return nil
}

// timedOut is, beside those of admit, the reason of a call that waited too
// long.
const timedOut sched.Reason = 255

// reject makes the error of a call that was not admitted, and tells of it.
func (l *Limiter) reject(ctx context.Context, e AdmissionEvent, o *Options, refusal sched.Refusal, why Wait, now limit.Instant, cause error) *RejectedError {
	err := l.rejectedError(e.Route, o, refusal, now, cause)
	err.Wait = why
	e.Reason = err.Reason
	l.tell(ctx, e)
	return err
}

func (l *Limiter) rejectedError(r route.Route, o *Options, why sched.Refusal, now limit.Instant, cause error) *RejectedError {
	err := &RejectedError{Route: r, Err: cause}
	switch why.Reason {
	case sched.QueueFull:
		err.Reason = ReasonQueueFull
	case sched.Deadline:
		err.Reason, err.Detail = ReasonDeadline, l.whyClosed()
	case sched.NoKey:
		err.Reason = ReasonNoKey
		err.Detail = l.whyNoKey(r, o)
	case sched.Draining:
		err.Reason = ReasonShuttingDown
	case timedOut:
		err.Reason, err.Detail = ReasonTimeout, l.whyClosed()
	default:
		panic(fmt.Sprintf("BUG: riftrelay: refusal without a reason: %+v", why))
	}
	if why.Start < limit.Never {
		err.RetryAfter = max(time.Millisecond, why.Start.Sub(now))
	}
	return err
}

// whyRefused returns what holds back a call that is refused for want of time or
// of a place in the queue. It is zero where other calls alone are before it.
// l.mu is held.
func (l *Limiter) whyRefused(now limit.Instant, req sched.Request, refusal sched.Refusal) Wait {
	switch refusal.Reason {
	case sched.QueueFull, sched.Deadline, timedOut:
		if w := l.waitOf(l.machine.Why(now, req), now); w.Kind != WaitTurn {
			return w
		}
	}
	return Wait{}
}

// whyClosed explains why nothing goes at all; empty if something does.
func (l *Limiter) whyClosed() string {
	if l.cluster == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.machine.Desk().Closed {
		return ""
	}
	return "the store that replicas share is away, and nothing goes without it (STORE_LOSS=closed)"
}
