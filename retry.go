package riftrelay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Retry says after which failures of Riot's a GET or HEAD is tried again, at
// most twice, after a short wait, and through admission like any other call.
// All retries together are at most a tenth of the calls. The zero value is
// never; 429s are another matter, see Transport.
type Retry struct {
	Statuses []int // answers, of 500 to 599
	Reset    bool  // the connection broke before the head of an answer
	Timeout  bool  // ErrUpstreamTimeout before the head of an answer
}

// Bounds on the tries of one call.
const (
	maxFailures = 2        // tries after failures that Retry lists
	maxResends  = 4        // tries after Riot processed nothing
	maxKept     = 64 << 10 // bytes of an answer's body kept while a further try waits
)

// retryReason is why a call is tried again.
type retryReason uint8

const (
	noRetry          retryReason = iota
	retryOtherKey                // another key can serve the call
	retryLimited                 // a 429: it is tried until its deadline
	retryUnsent                  // it was stopped before it could be sent
	retryUnprocessed             // Riot's server says that it did not process it, or may never have seen it
	retryFailure                 // a failure that Transport.Retry lists
)

// tried is what retryPolicy has to know of a try.
type tried struct {
	err        error
	otherKey   bool // another key is to be tried
	limited    bool // the answer is a 429
	repeatable bool // Riot may see the request twice
	listed     bool // Transport.Retry lists the failure
	resends    int  // earlier tries that Riot did not process
	failures   int  // earlier tries that failed in a way that Retry lists
}

// retryPolicy returns why a call is tried again: every reason that there is. It
// does not say whether another try is possible; call.prepare finds that out.
func retryPolicy(t tried) retryReason {
	switch {
	case t.otherKey:
		return retryOtherKey
	case t.limited:
		return retryLimited
	case errors.Is(t.err, errStopped):
		return retryUnsent
	case errors.Is(t.err, errSentAgain) && t.repeatable, takenBack(t.err):
		if t.resends < maxResends {
			return retryUnprocessed
		}
	case t.listed && t.repeatable:
		if t.failures < maxFailures {
			return retryFailure
		}
	}
	return noRetry
}

// repeatable reports whether Riot may see the request twice: POST and PUT make
// tournament codes, which must not double (R21).
func repeatable(req *http.Request) bool {
	return (req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == "") && (req.Body == nil || req.Body == http.NoBody)
}

// wants reports whether a try that ended so is worth another. sent says that
// the request was written, or may have been.
func (r *Retry) wants(resp *http.Response, err error, sent bool) bool {
	switch {
	case err == nil:
		return slices.Contains(r.Statuses, resp.StatusCode)
	case errors.Is(err, ErrUpstreamTimeout):
		return r.Timeout
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // of the caller
		return false
	}
	// What was sent and got no answer broke, by whatever name: HTTP/2 has many.
	broken := sent || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	return r.Reset && broken
}

// allowance keeps retries to a share of the calls, so that they don't make bad
// weather worse. The zero value is ready, with room for the first few.
type allowance struct {
	mu   sync.Mutex
	used float64 // retries, less a tenth of the calls since
}

const (
	retryShare = 0.1
	retryBurst = 10
)

func (a *allowance) called() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used = max(0, a.used-retryShare)
}

func (a *allowance) take() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used+1 > retryBurst {
		return false
	}
	a.used++
	return true
}

// pause waits before the n-th repeat, from 1: 100 ms, doubled each time, give
// or take a half.
func pause(ctx context.Context, n int) error {
	d := time.Duration((0.5 + rand.Float64()) * float64(100*time.Millisecond) * float64(int(1)<<(n-1)))
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keep reads a small body, so that the answer can be given to the caller if no
// further try is possible, and frees its connection. It reports false when the
// body is too large for that: then the answer is the caller's as it is.
func keep(resp *http.Response) bool {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxKept+1))
	if err != nil || len(data) > maxKept {
		rest := io.Reader(resp.Body)
		if err != nil {
			rest = failing{err}
		}
		resp.Body = readCloser{io.MultiReader(bytes.NewReader(data), rest), resp.Body}
		return false
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return true
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type readCloser struct {
	io.Reader
	io.Closer
}

// takenBack reports whether the server has said that it did not process the
// request: it reset the stream with REFUSED_STREAM, or ended the connection with
// a GOAWAY that names an earlier stream as the last (RFC 9113, 8.7). Such a
// request can be sent again, a POST too.
//
// net/http tells this in the texts of errors alone. A text that isn't known here
// means that the request isn't sent again. A GET doesn't come this far, because
// net/http sends it again by itself: see attempt.gotConn, and call.barewrite.
func takenBack(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	if strings.HasPrefix(text, "http2: Transport received GOAWAY from server ErrCode:") {
		return true // the first stream of a connection, above the last one
	}
	text, ok := strings.CutPrefix(text, "http2: Transport: cannot retry err [")
	if !ok {
		return false
	}
	text, ok = strings.CutSuffix(text, "] after Request.Body was written; define Request.GetBody to avoid this error")
	return ok && (text == "http2: Transport received Server's graceful shutdown GOAWAY" ||
		strings.HasPrefix(text, "stream error: stream ID ") && strings.HasSuffix(text, "; REFUSED_STREAM; received from peer"))
}

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
