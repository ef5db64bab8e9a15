package riftrelay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"riftrelay"
)

func TestRetryAfter(t *testing.T) {
	refused := func(reason riftrelay.Reason, after time.Duration) error {
		return &url.Error{Op: "Get", URL: "x", Err: &riftrelay.RejectedError{Reason: reason, RetryAfter: after}}
	}
	for _, c := range []struct {
		err  error
		wait time.Duration
		ok   bool
	}{
		{nil, 0, false},
		{refused(riftrelay.ReasonDeadline, 88*time.Second), 88 * time.Second, true},
		{refused(riftrelay.ReasonQueueFull, 3*time.Second), 3 * time.Second, true},
		{refused(riftrelay.ReasonTimeout, time.Second), time.Second, true},
		{refused(riftrelay.ReasonNoKey, 0), 0, false}, // no key, for good
		{refused(riftrelay.ReasonNoKey, time.Minute), time.Minute, true},
		{refused(riftrelay.ReasonShuttingDown, time.Second), 0, false},
		{refused(riftrelay.ReasonInvalidRoute, 0), 0, false},
		{&riftrelay.APIError{Status: 429, RetryAfter: 7 * time.Second}, 7 * time.Second, true},
		{&riftrelay.APIError{Status: 503}, time.Second, true},
		{&riftrelay.APIError{Status: 404}, 0, false},
		{&riftrelay.APIError{Status: 429, FromRelay: true, Reason: riftrelay.ReasonDeadline, RetryAfter: 119 * time.Second}, 119 * time.Second, true},
		{&riftrelay.APIError{Status: 400, FromRelay: true, Reason: riftrelay.ReasonInvalidBudget}, 0, false},
		{&riftrelay.APIError{Status: 502, FromRelay: true, Reason: "upstream_unavailable"}, time.Millisecond, true},
		{fmt.Errorf("get: %w", riftrelay.ErrUpstreamTimeout), time.Second, true},
		{context.DeadlineExceeded, 0, false}, // the caller's own
		{context.Canceled, 0, false},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, time.Second, true},
		{&url.Error{Op: "Get", URL: "x", Err: syscall.ECONNRESET}, time.Second, true},
		{&url.Error{Op: "Get", URL: "x", Err: io.ErrUnexpectedEOF}, time.Second, true},
		{&url.Error{Op: "Get", URL: "x", Err: errors.New("unsupported protocol scheme")}, 0, false},
		{errors.New("the answer is no JSON"), 0, false},
	} {
		if wait, ok := riftrelay.RetryAfter(c.err); wait != c.wait || ok != c.ok {
			t.Errorf("%v: %v, %v; want %v, %v", c.err, wait, ok, c.wait, c.ok)
		}
	}
}

// "Out of time" has one check, wherever the time ran out.
func TestOutOfTimeHasOneCheck(t *testing.T) {
	for _, err := range []error{
		&riftrelay.RejectedError{Reason: riftrelay.ReasonDeadline},
		&riftrelay.RejectedError{Reason: riftrelay.ReasonTimeout},
		riftrelay.ErrUpstreamTimeout,
		context.DeadlineExceeded,
	} {
		wrapped := &url.Error{Op: "Get", URL: "x", Err: err}
		if !errors.Is(wrapped, context.DeadlineExceeded) || !wrapped.Timeout() {
			t.Errorf("%v: is DeadlineExceeded: %v, Timeout: %v", err, errors.Is(wrapped, context.DeadlineExceeded), wrapped.Timeout())
		}
	}
	full := &url.Error{Op: "Get", URL: "x", Err: &riftrelay.RejectedError{Reason: riftrelay.ReasonQueueFull}}
	if errors.Is(full, context.DeadlineExceeded) || full.Timeout() {
		t.Errorf("%v is a matter of time", full)
	}
}
