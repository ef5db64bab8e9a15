package riftrelay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"riftrelay/internal/limit"
)

// attempt is one try of a call at Riot: it tells the permit when the request
// is written, bounds the waits, and keeps net/http from sending the request
// again on the same charge.
type attempt struct {
	call   *call
	permit Permit
	began  time.Time
	took   time.Duration // until the head of the answer, or the failure

	// Parts that last as long as the attempt does: one allocation for all.
	out    http.Request
	url    url.URL
	trace  httptrace.ClientTrace
	answer answerBody
	framed bool          // a write without a body has an empty one
	token  [1]string     // the key, for the header to Riot
	name   [1]string     // of the key, for the caller's
	sent   *http.Request // out, with its context

	cancel context.CancelCauseFunc
	idle   *time.Timer // cancels with ErrUpstreamTimeout; nil without a bound

	mu      sync.Mutex // the hooks run on net/http's goroutines
	wire    *wire      // nil unless it tells when the request has left
	traced  bool       // the base calls hooks at all
	linked  bool       // a connection has come
	kept    bool       // the connection in use was there before
	http2   bool       // it speaks HTTP/2
	written bool       // the request was written, or may have been
	refused error      // why nothing more leaves: errSentAgain or errStopped
}

// send sends the request and returns the answer, its body not yet read.
func (a *attempt) send() answer {
	if err := a.outgoing(); err != nil {
		return answer{err: err}
	}
	ctx, cancel := context.WithCancelCause(&a.call.context)
	a.cancel = cancel
	if a.call.t.Timeout > 0 {
		a.idle = time.AfterFunc(a.call.t.Timeout, func() { cancel(ErrUpstreamTimeout) })
	}
	a.trace = httptrace.ClientTrace{GotConn: a.gotConn, WroteRequest: a.wrote}
	if _, calls := a.call.t.base.(*http.Transport); calls {
		a.traced = true
	} else {
		a.trace.GetConn = a.getConn
	}
	if d := a.permit.standsFor(); d > 0 {
		defer time.AfterFunc(d, a.tooLate).Stop()
	}
	returned := false
	defer func() {
		if !returned { // Base has panicked, and whoever recovers knows nothing of permits
			a.stopIdle()
			a.observe(answer{err: errPanicked})
			cancel(nil)
		}
	}()
	a.sent = a.out.WithContext(httptrace.WithClientTrace(ctx, &a.trace))
	resp, err := a.call.t.base.RoundTrip(a.sent) //nolint:bodyclose // the caller closes it
	returned = true
	a.stopIdle()
	if err != nil {
		err = a.why(ctx, err)
		cancel(nil)
		a.suspect(err)
		return answer{err: err}
	}
	a.answer = answerBody{ReadCloser: resp.Body, a: a, ctx: ctx}
	resp.Body = &a.answer
	return answer{resp: resp}
}

// suspect drops the connections that are kept idle, when a kept one stood still
// and nothing else came from there meanwhile: a peer that vanished took them
// all along, and each would cost a call its Timeout.
func (a *attempt) suspect(err error) {
	a.mu.Lock()
	kept := a.kept
	a.mu.Unlock()
	if !kept || !errors.Is(err, ErrUpstreamTimeout) || a.call.to.heard.Load() > a.began.UnixNano() {
		return
	}
	if base, ok := a.call.t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// why returns the cause of a failure, where we know it better than the base.
func (a *attempt) why(ctx context.Context, err error) error {
	a.mu.Lock()
	refused := a.refused
	a.mu.Unlock()
	switch {
	case refused != nil:
		return refused
	case errors.Is(context.Cause(ctx), ErrUpstreamTimeout):
		return ErrUpstreamTimeout
	case a.call.context.Err() != nil:
		return ended(&a.call.context)
	}
	return err
}

// observe learns from the head of the answer, or settles a try without one.
func (a *attempt) observe(got answer) learned {
	a.took = time.Since(a.began)
	if got.err == nil {
		a.call.to.heard.Store(a.began.Add(a.took).UnixNano())
		return a.permit.observe(got.resp.StatusCode, got.resp.Header)
	}
	if a.mayHaveArrived() {
		a.permit.Sent()
	}
	a.permit.Release()
	return learned{}
}

// mayHaveArrived reports whether the request was written, or may have been.
func (a *attempt) mayHaveArrived() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.written || !a.traced && a.cancel != nil
}

// retry returns why the call is tried again after this try.
func (a *attempt) retry(got answer, lesson learned) retryReason {
	c := a.call
	a.mu.Lock()
	c.http2 = a.http2
	a.mu.Unlock()
	return retryPolicy(tried{
		err:        got.err,
		otherKey:   c.tryOtherKey(a.permit, got.resp, lesson.elsewhere),
		limited:    lesson.Kind != limit.NotLimited,
		repeatable: repeatable(c.req),
		listed:     c.t.Retry.wants(got.resp, got.err, a.mayHaveArrived()),
		resends:    c.resends,
		failures:   c.failures,
	})
}

// tell tells the hooks how the try ended.
func (a *attempt) tell(got answer, lesson learned, again bool) {
	c := a.call
	e := AnswerEvent{
		At: a.began.Add(a.took), Route: c.route, Priority: c.options.Priority, Key: a.permit.Key(), Try: c.context.report.Tries,
		Kind: limitKind(lesson.Kind), Own: lesson.Kind.Own(), Duration: a.took, Err: got.err, Retry: again,
	}
	if got.resp != nil {
		e.Status = got.resp.StatusCode
	}
	c.t.Limiter.tellAnswer(c.req.Context(), e)
}

// wrote is called when the request has been written, or has failed to be: part
// of it may have arrived then. Where its end is still in a buffer, it counts as
// sent when that has left; if the buffer turns out to be empty, with its answer.
func (a *attempt) wrote(info httptrace.WroteRequestInfo) {
	a.mu.Lock()
	if a.refused != nil {
		a.mu.Unlock()
		return // it went no further than a buffer
	}
	a.written = true
	wire := a.wire
	a.mu.Unlock()
	if wire != nil && info.Err == nil {
		wire.leaving.Store(a)
		return
	}
	a.permit.Sent() // without the lock, for hooks may hear of it
}

// left is called when the end of the request is with the system.
func (a *attempt) left() { a.permit.Sent() }

// getConn is called before a connection is looked for: so the base calls hooks.
func (a *attempt) getConn(string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.traced = true
}

var errSentAgain = errors.New("riftrelay: a kept connection was dead, or its server took the call back")

var errFraming = fmt.Errorf("%w: the connection takes a request without a body in another form", errStopped)

var errPanicked = errors.New("riftrelay: the base transport panicked")

var errStopped = errors.New("riftrelay: a 429 came, the key was disabled, or a store's permit ended before the call could be sent")

// tooLate is called when the permit no longer stands. A call that has no
// connection by then stops waiting for it. net/http goes on connecting and keeps
// what comes of that, so a further try finds it. Were the connection closed when
// it comes, a way on which connecting takes longer than a permit stands would
// carry no call ever.
func (a *attempt) tooLate() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.traced && !a.linked && a.refused == nil {
		a.refused = errStopped
		a.call.body.spare()
		a.cancel(errStopped)
	}
}

// gotConn is called with the connection to send on, the last moment before the
// request is written. If a 429 has stopped the call meanwhile, or its key was
// disabled, it doesn't leave, and Transport.RoundTrip asks for another admission.
//
// Nor does a second sending: net/http sends a request again, unasked, when a
// connection that it kept turns out to be dead, or when a server takes an HTTP/2
// stream back. Riot may have counted the first one, and a charge is for one.
//
// Nothing here may wait: it can be called under a lock of net/http's.
//
// Over HTTP/2 a cancelled request is not written; over HTTP/1 it may be.
func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.linked, a.kept = true, info.Reused || info.WasIdle
	a.wire, a.http2 = wireOf(info.Conn), shared(info.Conn)
	if a.written && a.refused == nil {
		a.refused = errSentAgain
		a.cancel(errSentAgain)
	}
	if a.refused == nil && !a.permit.Valid() {
		a.refused = errStopped
		a.call.body.spare()
		a.cancel(errStopped)
	}
	if a.refused == nil && a.framed != a.http2 && a.call.barewrite() {
		a.refused = errFraming
		a.cancel(errFraming)
	}
	if a.refused != nil && info.Conn != nil && !shared(info.Conn) {
		info.Conn.Close() // nothing goes out on it
	}
}

// shared reports whether other calls are on the connection too.
func shared(conn net.Conn) bool {
	c, ok := conn.(*tls.Conn)
	return ok && c.ConnectionState().NegotiatedProtocol == "h2"
}

func (a *attempt) stopIdle() {
	if a.idle != nil {
		a.idle.Stop()
	}
}

// answerBody is the body of an answer. Each wait for more of it is bounded;
// the time that its reader takes is not.
type answerBody struct {
	io.ReadCloser
	a   *attempt
	ctx context.Context
}

func (b *answerBody) Read(p []byte) (int, error) {
	if b.a.idle != nil {
		b.a.idle.Reset(b.a.call.t.Timeout)
	}
	n, err := b.ReadCloser.Read(p)
	b.a.stopIdle()
	if err != nil && err != io.EOF && errors.Is(context.Cause(b.ctx), ErrUpstreamTimeout) {
		err = ErrUpstreamTimeout
	}
	return n, err
}

func (b *answerBody) Close() error {
	b.a.stopIdle()
	err := b.ReadCloser.Close()
	b.a.cancel(nil)
	return err
}
