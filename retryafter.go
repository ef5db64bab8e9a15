package riftrelay

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// RetryAfter reports whether a call that ended with err is worth repeating, and
// how long from now to wait before that. It knows the errors of Transport,
// Limiter and GetJSON, and failures of the network.
//
// Worth repeating are refusals that time heals, a 429 and a 5xx of Riot's, and a
// network that failed. A call that may have reached Riot is among them; a
// program that makes tournament codes has to check that for itself. Not worth
// repeating are other answers, invalid calls, a closed Limiter, and a call whose
// own context has ended.
func RetryAfter(err error) (wait time.Duration, ok bool) {
	const unknown = time.Second // where nobody says how long
	var (
		rejected  *RejectedError
		answer    *APIError
		operation *net.OpError
	)
	switch {
	case err == nil:
		return 0, false
	case errors.As(err, &rejected):
		return afterRefusal(rejected.Reason, rejected.RetryAfter)
	case errors.As(err, &answer) && answer.FromRelay:
		return afterRefusal(answer.Reason, answer.RetryAfter)
	case answer != nil && (answer.Status == http.StatusTooManyRequests || answer.Status/100 == 5):
		return max(answer.RetryAfter, unknown), true
	case answer != nil:
		return 0, false
	case errors.Is(err, ErrUpstreamTimeout):
		return unknown, true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return 0, false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the connection broke
		return unknown, true
	case errors.As(err, &operation), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EPIPE):
		return unknown, true
	}
	return 0, false
}

// afterRefusal is RetryAfter for a call that was not admitted.
func afterRefusal(reason Reason, wait time.Duration) (time.Duration, bool) {
	switch reason {
	case ReasonQueueFull, ReasonDeadline, ReasonTimeout, ReasonTooManyKeys, "upstream_timeout", "upstream_unavailable": // the last two of a relay
		return max(wait, time.Millisecond), true
	case ReasonNoKey:
		return wait, wait > 0
	case ReasonShuttingDown, ReasonInvalidRoute, ReasonUnknownKey, ReasonInvalidMaxWait, ReasonInvalidBudget, ReasonInvalidKey:
	}
	return 0, false
}
