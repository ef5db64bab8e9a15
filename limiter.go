package riftrelay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"riftrelay/admit"
	"riftrelay/limit"
	"riftrelay/route"
)

// Limiter admits calls so that Riot's limits are used to the full and never
// exceeded. It is the shell around admit.Machine: the lock, the clock, the
// timer and the callers that wait. All methods are safe for concurrent use.
// Make it with New.
type Limiter struct {
	cfg   Config
	epoch time.Time // limit.Instant 0

	mu      sync.Mutex
	machine *admit.Machine
	timer   *time.Timer
	armed   limit.Instant // when timer fires; limit.Never when it won't
	spare   []*waiter
	closed  bool

	grantedFunc func(*admit.Waiter, *admit.Permit) // l.granted, bound once
}

// waiter is a caller of Acquire in a queue. Its outcome is written once, by
// whoever takes it out of the queue.
type waiter struct {
	admit.Waiter
	done  chan outcome // capacity 1
	timer *time.Timer
}

type outcome struct {
	permit  *admit.Permit // nil: refused
	refusal admit.Refusal
}

// New makes a Limiter. The error names every field of cfg that is wrong, its
// value and what is allowed.
func New(cfg Config) (*Limiter, error) {
	cfg, assumed, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Limiter{cfg: cfg, epoch: time.Now(), armed: limit.Never}
	l.machine = admit.New(admit.Config{
		Keys:          len(cfg.Keys),
		Burst:         cfg.Pacing,
		Margin:        cfg.Margin,
		Assumed:       assumed,
		QueueCapacity: max(0, cfg.QueueCapacity),
		QueueTotal:    max(0, cfg.QueueTotal),
		Start:         limit.Instant(cfg.Margin),
	})
	l.grantedFunc = l.granted
	return l, nil
}

// now reads the clock. It is read with l.mu held, so that the machine's time
// never runs backwards.
func (l *Limiter) now() limit.Instant { return limit.Instant(time.Since(l.epoch)) }

// Acquire waits until the call may go to Riot. The caller then sends it and
// tells the Permit: Sent when it is written, then Observe with the answer, or
// Release without one.
//
// The error is a *RejectedError, or that of ctx when it was cancelled. What
// can't be served before its deadline is rejected at once.
func (l *Limiter) Acquire(ctx context.Context, r route.Route, o Options) (Permit, error) {
	return l.acquire(ctx, r, &o, l.deadline(ctx, &o), false)
}

// TryAcquire is Acquire that doesn't wait.
func (l *Limiter) TryAcquire(r route.Route, o Options) (Permit, error) {
	o.MaxWait = NowOrNever
	return l.Acquire(context.Background(), r, o)
}

// deadline gives the latest start that a call of these options allows; zero
// means any.
func (l *Limiter) deadline(ctx context.Context, o *Options) (at time.Time) {
	wait := o.MaxWait
	if wait == 0 {
		wait = l.cfg.AdmissionTimeout
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

// acquire is Acquire with the deadline of all tries, and front for a call that
// comes back after a 429.
func (l *Limiter) acquire(ctx context.Context, r route.Route, o *Options, deadline time.Time, front bool) (Permit, error) {
	if err := ctx.Err(); err != nil {
		l.tell(AdmissionEvent{Route: r, Priority: o.Priority, Gone: true})
		return Permit{}, err
	}
	req, err := l.request(r, o, deadline, front)
	if err != nil {
		l.tell(AdmissionEvent{Route: r, Priority: o.Priority, Reason: err.Reason})
		return Permit{}, err
	}

	l.mu.Lock()
	now := l.now()
	w := l.takeWaiter()
	p, refusal := l.machine.Enqueue(now, &w.Waiter, req)
	if p == nil && refusal.Reason == admit.None {
		l.poll(now)
		p, refusal = l.afterPoll(now, w, req)
	}
	if p != nil || refusal.Reason != admit.None {
		l.giveBack(w)
		permit := l.permit(p)
		l.mu.Unlock()
		if p == nil {
			return Permit{}, l.reject(r, o, refusal, now, 0, nil)
		}
		l.tell(AdmissionEvent{Route: r, Priority: o.Priority, Key: permit.Key()})
		return permit, nil
	}
	l.mu.Unlock()
	return l.wait(ctx, w, r, o, req, now)
}

// afterPoll looks what became of a waiter that was enqueued just now. A call
// that wants to go now or never doesn't stay. l.mu is held.
func (l *Limiter) afterPoll(now limit.Instant, w *waiter, req admit.Request) (*admit.Permit, admit.Refusal) {
	select {
	case out := <-w.done:
		return out.permit, out.refusal
	default:
	}
	if req.Deadline > now {
		return nil, admit.Refusal{}
	}
	l.machine.Cancel(&w.Waiter)
	refusal := l.machine.Estimate(now, req)
	refusal.Reason = admit.Deadline
	return nil, refusal
}

// wait is the part of acquire that waits.
func (l *Limiter) wait(ctx context.Context, w *waiter, r route.Route, o *Options, req admit.Request, since limit.Instant) (Permit, error) {
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
			out.refusal = l.machine.Estimate(now, req)
			out.refusal.Reason = timedOut
		} else if out = <-w.done; gone && out.permit != nil {
			// Granted in the very moment that nobody wanted it any more.
			l.machine.Release(now, out.permit)
			l.poll(now)
			out.permit = nil
		}
	}
	l.giveBack(w)
	permit := l.permit(out.permit)
	l.mu.Unlock()

	waited := now.Sub(since)
	switch err := ctx.Err(); {
	case permit.p != nil:
		l.tell(AdmissionEvent{Route: r, Priority: o.Priority, Key: permit.Key(), Waited: waited})
		return permit, nil
	case gone && !errors.Is(err, context.DeadlineExceeded):
		l.tell(AdmissionEvent{Route: r, Priority: o.Priority, Waited: waited, Gone: true})
		return Permit{}, err
	case gone:
		out.refusal.Reason = timedOut
	}
	return Permit{}, l.reject(r, o, out.refusal, now, waited, ctx.Err())
}

// expiry gives a channel that delivers at the deadline; nil without one.
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

// takeWaiter gives a waiter that nobody uses. l.mu is held.
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
func (l *Limiter) granted(w *admit.Waiter, p *admit.Permit) {
	w.Data.(*waiter).done <- outcome{permit: p}
}

// poll lets go what can go and sets the timer for what can go later. l.mu is
// held.
func (l *Limiter) poll(now limit.Instant) {
	l.machine.Poll(now, l.grantedFunc)
	next := l.machine.NextWake()
	if next >= l.armed || l.closed {
		return
	}
	const longest = time.Hour // far beyond any window; keeps Never out of the timer
	d := min(next.Sub(now), longest)
	if l.timer == nil {
		l.timer = time.AfterFunc(d, l.fire)
	} else {
		l.timer.Reset(d)
	}
	l.armed = now.Add(d)
}

func (l *Limiter) fire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = limit.Never
	l.poll(l.now())
}

// Estimate predicts how long a call with these options would wait now, if
// nothing else came.
func (l *Limiter) Estimate(r route.Route, o Options) (time.Duration, error) {
	req, err := l.request(r, &o, time.Time{}, false)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	now := l.now()
	e := l.machine.Estimate(now, req)
	l.mu.Unlock()
	if e.Reason != admit.None {
		return 0, l.rejectedError(r, e, now, nil)
	}
	return max(0, e.Start.Sub(now)), nil
}

// SetPacing changes the burst share for all calls, also those that wait.
func (l *Limiter) SetPacing(b float64) error {
	if !(b >= 0 && b <= 1) {
		return fmt.Errorf("riftrelay: pacing is %v; allowed: 0 (spread) to 1 (burst)", b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.machine.SetBurst(now, b)
	l.poll(now)
	return nil
}

// Drain admits no new calls from now on. Calls in the queues that can start
// within grace still do; the others are rejected at once.
func (l *Limiter) Drain(grace time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.drain(now, now.Add(grace))
	l.poll(now)
}

func (l *Limiter) drain(now, until limit.Instant) {
	l.machine.Drain(now, until, func(w *admit.Waiter, start limit.Instant) {
		w.Data.(*waiter).done <- outcome{refusal: admit.Refusal{Reason: admit.Draining, Start: start}}
	})
}

// Close rejects everything that waits, and all further calls. Permits stay
// valid. Closing twice does no harm.
func (l *Limiter) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drain(l.now(), -limit.Never)
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	return nil
}

// request checks what the caller asks for and puts it in the machine's terms.
func (l *Limiter) request(r route.Route, o *Options, deadline time.Time, front bool) (admit.Request, *RejectedError) {
	if r.Method == nil || r.Host == "" {
		return admit.Request{}, &RejectedError{Reason: ReasonInvalidRoute, Detail: "the route is empty; allowed: one that route.Table.Match gave"}
	}
	req := admit.Request{
		Host: r.Host, Method: r.Method.String(), Keyless: r.Method.Auth == route.AuthRSO,
		High: o.Priority == High, Pin: int(o.Pin) - 1, Deadline: limit.Never, Front: front,
	}
	if !deadline.IsZero() {
		req.Deadline = limit.Instant(deadline.Sub(l.epoch))
	}
	if req.Pin >= len(l.cfg.Keys) || req.Pin < -1 {
		return req, &RejectedError{
			Reason: ReasonInvalidTokenIndex, Route: r,
			Detail: fmt.Sprintf("key %d; allowed: %s", req.Pin, keyRange(len(l.cfg.Keys))),
		}
	}
	return req, nil
}

func keyRange(n int) string {
	switch n {
	case 0:
		return "none, there are no keys"
	case 1:
		return "0"
	}
	return fmt.Sprintf("0 to %d", n-1)
}

func (l *Limiter) keyName(key int) string {
	if key < 0 {
		return ""
	}
	return l.cfg.Keys[key].Name
}

// tell passes an event on to the hooks, outside the lock.
func (l *Limiter) tell(e AdmissionEvent) {
	if l.cfg.Hooks != nil {
		l.cfg.Hooks.Admission(e)
	}
}

// timedOut is, beside those of admit, the reason of a call that waited too
// long.
const timedOut admit.Reason = 255

// reject makes the error of a call that was not admitted, and tells of it.
func (l *Limiter) reject(r route.Route, o *Options, why admit.Refusal, now limit.Instant, waited time.Duration, cause error) *RejectedError {
	err := l.rejectedError(r, why, now, cause)
	l.tell(AdmissionEvent{Route: r, Priority: o.Priority, Reason: err.Reason, Waited: waited})
	return err
}

func (l *Limiter) rejectedError(r route.Route, why admit.Refusal, now limit.Instant, cause error) *RejectedError {
	err := &RejectedError{Route: r, Err: cause}
	switch why.Reason {
	case admit.QueueFull:
		err.Reason = ReasonQueueFull
	case admit.Deadline:
		err.Reason = ReasonDeadline
	case admit.NoKey:
		err.Reason = ReasonNoKey
		err.Detail = "no key is configured"
	case admit.Draining:
		err.Reason = ReasonShuttingDown
	case timedOut:
		err.Reason = ReasonTimeout
	default:
		panic(fmt.Sprintf("BUG: riftrelay: refusal without a reason: %+v", why))
	}
	if why.Start < limit.Never {
		err.RetryAfter = max(time.Millisecond, why.Start.Sub(now))
	}
	return err
}
