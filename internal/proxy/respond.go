package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// Reasons beside those of riftrelay.Reason: nothing was rejected, something
// went wrong.
const (
	reasonUpstreamTimeout     = "upstream_timeout"
	reasonUpstreamUnavailable = "upstream_unavailable"
	reasonInvalidBody         = "invalid_body"
	reasonClientGone          = "client_gone"
)

// reasonInvalidTokenIndex refuses an X-Riot-Token-Index that counts no key.
const reasonInvalidTokenIndex riftrelay.Reason = "invalid_token_index"

// reply is an answer of the relay's own.
type reply struct {
	status     int
	reason     string
	message    string
	retryAfter int // seconds; 0 = not said
}

// replyFor is the one place where an error becomes a status. gone says that the
// client has left; upstream is the name of the host at Riot.
func replyFor(err error, gone bool, upstream string) reply {
	var (
		rejected *riftrelay.RejectedError
		body     *bodyError
		timeout  net.Error
	)
	switch {
	case gone:
		return reply{StatusClientGone, reasonClientGone, "", 0}
	case errors.As(err, &rejected):
		return replyForRejected(rejected)
	case errors.As(err, &body):
		return replyForBody(body)
	case errors.Is(err, riftrelay.ErrUpstreamTimeout), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return reply{http.StatusGatewayTimeout, reasonUpstreamTimeout, upstream + " did not answer in time", 0}
	}
	// The error itself may name addresses that are nobody's business.
	return reply{http.StatusBadGateway, reasonUpstreamUnavailable, upstream + " could not be reached or gave no usable answer", 0}
}

// replyForRejected is the part for calls that were not admitted.
func replyForRejected(e *riftrelay.RejectedError) reply {
	r := reply{reason: string(e.Reason), message: e.Detail}
	if e.Reason == riftrelay.ReasonUnknownKey { // clients name a key by X-Riot-Token-Index alone
		r.reason = string(reasonInvalidTokenIndex)
	}
	if e.RetryAfter > 0 {
		r.retryAfter = int((e.RetryAfter + time.Second - 1) / time.Second) // up: a second early is a call in vain
	}
	say := func(status int, message string) {
		r.status = status
		if r.message == "" {
			r.message = message
			if e.Wait.Kind != "" {
				r.message += ": " + e.Wait.String()
			}
		}
	}
	at := ""
	if e.Route.Method != nil {
		at = " of " + e.Route.String()
	}
	switch e.Reason {
	case riftrelay.ReasonQueueFull:
		say(http.StatusTooManyRequests, "the queue"+at+" is full")
	case riftrelay.ReasonDeadline:
		say(http.StatusTooManyRequests, "the rate limits"+at+" leave no room within the time that the call may wait")
	case riftrelay.ReasonTimeout:
		say(http.StatusTooManyRequests, "the call waited as long as it may for the rate limits"+at)
	case riftrelay.ReasonNoKey, riftrelay.ReasonTooManyKeys:
		if strings.Contains(e.Detail, "401 Unknown apikey") {
			r.message += "; a development key ends after 24 hours, and a new one takes its place without a restart"
		}
		say(http.StatusServiceUnavailable, "no API key that can be used now")
	case riftrelay.ReasonShuttingDown:
		say(http.StatusServiceUnavailable, "the relay is shutting down")
	case reasonInvalidTokenIndex, riftrelay.ReasonUnknownKey, riftrelay.ReasonInvalidMaxWait, riftrelay.ReasonInvalidBudget, riftrelay.ReasonInvalidKey:
		say(http.StatusBadRequest, string(e.Reason))
	case riftrelay.ReasonInvalidRoute:
		status, message := http.StatusNotFound, "unknown route"
		var bad *route.Error
		if errors.As(e.Err, &bad) {
			status, message = bad.Status, bad.Detail
		}
		say(status, message)
	default: // ours, or newer than this table
		if status, ok := refusalStatus[e.Reason]; ok {
			say(status, string(e.Reason))
			break
		}
		say(http.StatusServiceUnavailable, string(e.Reason))
	}
	switch {
	case r.status == http.StatusTooManyRequests, e.Reason == riftrelay.ReasonShuttingDown:
		r.retryAfter = max(1, r.retryAfter) // clients need a number
	case r.status != http.StatusServiceUnavailable:
		r.retryAfter = 0
	}
	return r
}

// replyForBody is the part for a request whose own body failed.
func replyForBody(e *bodyError) reply {
	var (
		large   *http.MaxBytesError
		network net.Error
	)
	switch {
	case e.tooSlow():
		return reply{http.StatusRequestTimeout, reasonInvalidBody, "the request's body came too slowly", 0}
	case errors.As(e, &large):
		return reply{http.StatusRequestEntityTooLarge, reasonInvalidBody,
			"the request's body is too large; allowed: " + strconv.FormatInt(large.Limit, 10) + " bytes", 0}
	case errors.Is(e, errUnwantedBody):
		return reply{http.StatusBadRequest, reasonInvalidBody, errUnwantedBody.Error() + "; allowed: a request without one", 0}
	case errors.As(e, &network), errors.Is(e, io.ErrUnexpectedEOF), errors.Is(e, context.Canceled):
		return reply{StatusClientGone, reasonClientGone, "", 0}
	}
	return reply{http.StatusBadRequest, reasonInvalidBody, "the request's body is malformed", 0}
}

// refuse answers a call that is refused before it reached the transport.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, c *call, err error) {
	var e *riftrelay.RejectedError
	if errors.As(err, &e) {
		h.observer.Refused(e.Reason)
		if e.Reason == reasonUnauthorized || e.Reason == reasonProxyAuthorization {
			h.wrongToken(r)
		}
	}
	h.fail(w, r, c, err)
}

// fail answers a call that ended in an error before anything was written.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, c *call, err error) {
	var body *bodyError
	slow := errors.As(err, &body) && body.tooSlow() // which ends the context too, says net/http
	gone := !slow && errors.Is(r.Context().Err(), context.Canceled)
	a := replyFor(err, gone, c.url.Host)
	c.status, c.reason, c.source, c.err = a.status, a.reason, SourceRelay, err
	if a.status == StatusClientGone {
		// Returning would send an empty 200, and whoever left by halves would
		// take it for an answer.
		panic(http.ErrAbortHandler)
	}
	var rejected *riftrelay.RejectedError
	if a.status == http.StatusTooManyRequests && h.limits != nil && !h.stripRates && errors.As(err, &rejected) {
		rateHeaders(w.Header(), h.limits(rejected.Route))
	}
	if a.status/100 == 4 && a.status != http.StatusTooManyRequests && h.stray(r) {
		a.message, c.err = strayMessage, errStray
	}
	a.message = c.withoutToken(a.message)
	a.write(w)
}

// write sends the answer in the form of Riot's own errors (R22).
func (a reply) write(w http.ResponseWriter) {
	var body struct {
		Status struct {
			Message    string `json:"message"`
			StatusCode int    `json:"status_code"`
		} `json:"status"`
	}
	body.Status.Message, body.Status.StatusCode = redact(a.message), a.status
	text, err := json.Marshal(body)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	h := w.Header()
	h.Set("Content-Type", "application/json;charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("X-Content-Type-Options", "nosniff") // a message may quote what a client sent
	h.Set("Cache-Control", "no-store")
	h.Set("X-Riftrelay-Source", SourceRelay)
	h.Set("X-Riftrelay-Reason", a.reason)
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	challenge(h, a.status)
	switch a.status {
	case http.StatusTooManyRequests:
		// The type that doesn't make a client stop its whole budget.
		h.Set("X-Rate-Limit-Type", "service")
	case http.StatusMethodNotAllowed:
		h.Set("Allow", allowedVerbs)
	}
	w.WriteHeader(a.status)
	w.Write(text)
}
