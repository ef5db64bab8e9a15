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

// Reason says why a call was not admitted. Its text is the relay's
// X-RiftRelay-Reason header and, behind "rejected_", the outcome in metrics.
type Reason string

// The reasons of a RejectedError.
const (
	ReasonQueueFull      Reason = "queue_full"       // the queue is full
	ReasonDeadline       Reason = "deadline"         // the call can't go in time, so it did not wait
	ReasonTimeout        Reason = "timeout"          // the call waited, and ran out of time
	ReasonNoKey          Reason = "no_available_key" // no key is usable
	ReasonShuttingDown   Reason = "shutting_down"    // the Limiter is closed or draining
	ReasonInvalidRoute   Reason = "invalid_route"    // host or path that Riot doesn't serve
	ReasonUnknownKey     Reason = "unknown_key"      // Options.Key names a key that there isn't, or of another group
	ReasonInvalidMaxWait Reason = "invalid_max_wait" // a bound of the wait that is no duration
	ReasonInvalidBudget  Reason = "invalid_budget"   // a budget that there isn't
	ReasonInvalidKey     Reason = "invalid_key"      // Options.Key has a value that no key can be
	ReasonTooManyKeys    Reason = "too_many_keys"    // more keys of calls at a time than 1,024
)

// Sentinels for errors.Is. Each matches the *RejectedError of its reason.
var (
	ErrQueueFull    = errors.New("queue full")
	ErrNotInTime    = errors.New("no room within the time that the call may wait") // ReasonDeadline, ReasonTimeout
	ErrNoKey        = errors.New("no available key")
	ErrClosed       = errors.New("limiter closed")
	ErrUnknownRoute = errors.New("unknown route")
	ErrTooManyKeys  = errors.New("too many keys at a time")
)

// Sentinels for answers of Riot's: see APIError.
var (
	ErrNotFound    = errors.New("not found")                                 // 404
	ErrKeyRejected = errors.New("key rejected by Riot")                      // 401
	ErrForbidden   = errors.New("the key may not call this, or has expired") // 403
)

// ErrUnknownKey is what the errors of DisableKey, EnableKey and RecheckKey
// match, and the rejection of an Options.Key: no key in use has that name.
var ErrUnknownKey = errors.New("unknown key")

// ErrOtherVersion is ChangeEvent.Err of a ChangeStoreAway while there are
// replicas of another version on the same store, which can't hold the charges of
// both: each replica goes on within its share, until all are of one version.
var ErrOtherVersion = errors.New("replicas of another version use the store: each keeps to its share until all are of one version")

// ErrUpstreamTimeout is returned by Transport when Riot's answer did not begin
// within Transport.Timeout, and by a body that stood still for as long. It is
// context.DeadlineExceeded too.
var ErrUpstreamTimeout error = upstreamTimeout{}

type upstreamTimeout struct{}

func (upstreamTimeout) Error() string        { return "riftrelay: upstream timed out" }
func (upstreamTimeout) Timeout() bool        { return true } // as net.Error
func (upstreamTimeout) Temporary() bool      { return true }
func (upstreamTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

// RejectedError is the error of every call that was not admitted. Nothing was
// sent for it.
type RejectedError struct {
	Reason Reason

	// RetryAfter is how long from now room is expected. 0 means that nothing
	// is known or that waiting doesn't help.
	RetryAfter time.Duration

	// Route is what was called; zero when that could not be told.
	Route route.Route

	// Wait is what holds the call back: which limit, how much of it is used, until
	// when. It is zero where that isn't known, or doesn't matter.
	Wait Wait

	// Detail explains in a sentence what was wrong and what is allowed; may
	// be empty.
	Detail string

	// Err is the error behind this one, e.g. a *route.Error; may be nil.
	Err error
}

// Error says what was refused, why, and when to come back.
func (e *RejectedError) Error() string {
	s := "riftrelay: rejected: " + string(e.Reason)
	if e.Route.Method != nil {
		s += " at " + e.Route.String()
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	} else if e.Wait.Kind != "" {
		s += ": " + e.Wait.String()
	} else if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(" (retry in %v)", e.RetryAfter.Round(time.Millisecond))
	}
	return s
}

// Timeout reports whether the call was refused for lack of time, as net.Error's
// does.
func (e *RejectedError) Timeout() bool {
	return e.Reason == ReasonDeadline || e.Reason == ReasonTimeout
}

// Is makes errors.Is(err, ErrQueueFull) and its like work. Where time was too
// short, the error is context.DeadlineExceeded too, whoever set the bound.
func (e *RejectedError) Is(target error) bool {
	switch e.Reason {
	case ReasonQueueFull:
		return target == ErrQueueFull
	case ReasonDeadline, ReasonTimeout:
		return target == ErrNotInTime || target == context.DeadlineExceeded
	case ReasonNoKey:
		return target == ErrNoKey
	case ReasonShuttingDown:
		return target == ErrClosed
	case ReasonInvalidRoute:
		return target == ErrUnknownRoute
	case ReasonTooManyKeys:
		return target == ErrTooManyKeys
	case ReasonUnknownKey:
		return target == ErrUnknownKey
	case ReasonInvalidMaxWait, ReasonInvalidBudget, ReasonInvalidKey:
	}
	return false
}

// Unwrap returns the error behind this one, or nil.
func (e *RejectedError) Unwrap() error { return e.Err }

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
