package riftrelay

import (
	"errors"
	"testing"
)

// Every reason for another try, and their order of precedence.
func TestRetryPolicy(t *testing.T) {
	refused := errors.New("http2: Transport: cannot retry err [stream error: stream ID 3; REFUSED_STREAM; received from peer] after Request.Body was written; define Request.GetBody to avoid this error")
	for _, c := range []struct {
		name string
		try  tried
		want retryReason
	}{
		{"an answer that is nobody's trouble", tried{repeatable: true}, noRetry},
		{"another key", tried{otherKey: true}, retryOtherKey},
		{"another key before all else", tried{otherKey: true, limited: true, listed: true, repeatable: true}, retryOtherKey},
		{"a 429", tried{limited: true}, retryLimited},
		{"a 429 that Retry lists nothing of", tried{limited: true, failures: 100, resends: 100}, retryLimited},
		{"stopped before it was sent", tried{err: errStopped}, retryUnsent},
		{"stopped, however often", tried{err: errStopped, failures: 100, resends: 100}, retryUnsent},
		{"a kept connection was dead", tried{err: errSentAgain, repeatable: true}, retryUnprocessed},
		{"a kept connection was dead, of a POST", tried{err: errSentAgain}, noRetry},
		{"a kept connection was dead, too often", tried{err: errSentAgain, repeatable: true, resends: maxResends}, noRetry},
		{"the server took it back, of a POST", tried{err: refused}, retryUnprocessed},
		{"the server took it back, too often", tried{err: refused, resends: maxResends}, noRetry},
		{"a listed failure", tried{listed: true, repeatable: true}, retryFailure},
		{"a listed failure of a POST", tried{listed: true}, noRetry},
		{"a listed failure, too often", tried{listed: true, repeatable: true, failures: maxFailures}, noRetry},
		{"a failure that isn't listed", tried{err: errors.New("reset"), repeatable: true}, noRetry},
	} {
		if got := retryPolicy(c.try); got != c.want {
			t.Errorf("%s: reason %d, want %d", c.name, got, c.want)
		}
	}
}
