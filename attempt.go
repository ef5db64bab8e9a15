package riftrelay

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"riftrelay/limit"
	"riftrelay/route"
)

// attempt is one try of a call at Riot: it tells the permit when the request
// is written, bounds the waits, and keeps net/http from sending the request
// again on the same charge.
type attempt struct {
	t        *Transport
	parent   context.Context
	route    route.Route
	options  *Options
	deadline time.Time
	began    time.Time
	took     time.Duration // until the head of the answer, or the failure

	cancel context.CancelCauseFunc
	idle   *time.Timer // cancels with ErrUpstreamTimeout; nil without a bound

	mu      sync.Mutex // the hooks run on net/http's goroutines
	permit  Permit
	traced  bool  // the base calls hooks at all
	written bool  // the request was written, or may have been
	http2   bool  // on the connection in use
	refused error // a further sending was not admitted
}

// send sends the request and gives the answer, its body not yet read.
func (a *attempt) send(out *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(a.parent)
	a.cancel = cancel
	if a.t.Timeout > 0 {
		a.idle = time.AfterFunc(a.t.Timeout, func() { cancel(ErrUpstreamTimeout) })
	}
	trace := &httptrace.ClientTrace{GetConn: a.getConn, GotConn: a.gotConn, WroteRequest: a.wrote}
	resp, err := a.t.base.RoundTrip(out.WithContext(httptrace.WithClientTrace(ctx, trace)))
	a.stopIdle()
	if err != nil {
		err = a.why(ctx, err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &answerBody{ReadCloser: resp.Body, a: a, ctx: ctx}
	return resp, nil
}

// why gives the cause of a failure, where we know it better than the base.
func (a *attempt) why(ctx context.Context, err error) error {
	a.mu.Lock()
	refused := a.refused
	a.mu.Unlock()
	switch {
	case refused != nil:
		return refused
	case errors.Is(context.Cause(ctx), ErrUpstreamTimeout):
		return ErrUpstreamTimeout
	case a.parent.Err() != nil:
		return a.parent.Err()
	}
	return err
}

// observe learns from the head of the answer, or settles a try without one.
func (a *attempt) observe(resp *http.Response, err error) learned {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took = time.Since(a.began)
	if err == nil {
		return a.permit.observe(resp.StatusCode, resp.Header)
	}
	if !a.traced && a.cancel != nil {
		a.permit.Sent() // it may have been
	}
	a.permit.Release()
	return learned{}
}

// done tells the hooks how the try ended.
func (a *attempt) done(resp *http.Response, err error, lesson limit.Lesson, again bool) {
	e := AnswerEvent{Key: a.permit.Key(), Kind: lesson.Kind, Own: lesson.Kind.Own(), Tripped: lesson.Tripped, Err: err, Retry: again}
	if resp != nil {
		e.Status = resp.StatusCode
	}
	a.tell(e)
}

func (a *attempt) tell(e AnswerEvent) {
	if hooks := a.t.Limiter.cfg.Hooks; hooks != nil {
		e.Route, e.Duration = a.route, a.took
		hooks.Answer(e)
	}
}

// wrote is called when the request has been written, or has failed to be: part
// of it may have arrived then.
func (a *attempt) wrote(httptrace.WroteRequestInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written = true
	a.permit.Sent()
}

// getConn is called before each sending. net/http sends a request without a
// body again, unasked, when a connection that it kept turns out to be dead.
// Riot may have counted the first one, so the second needs an admission of its
// own.
func (a *attempt) getConn(string) {
	a.mu.Lock()
	a.traced = true
	// Over HTTP/2 only what the server did not process is sent again, and this
	// hook may be called under a lock of net/http's.
	again := a.written && !a.http2 && a.refused == nil
	old := a.permit
	a.mu.Unlock()
	if !again {
		return
	}
	a.stopIdle()
	old.Release()
	a.took = time.Since(a.began)
	a.tell(AnswerEvent{Key: old.Key(), Err: errSentAgain, Retry: true})
	o := *a.options
	if old.key != nil {
		o.Pin, o.choice = AnyKey, &choice{only: old.key} // the header is written already
		if c := a.options.choice; c != nil {
			o.choice.path = c.path
		}
	}
	permit, err := a.t.Limiter.acquire(a.parent, a.route, &o, a.deadline, true)
	if err == nil && permit.key != old.key && (permit.key == nil || permit.key.id != old.key.id) { // replaced meanwhile
		permit.Release()
		err = &RejectedError{Reason: ReasonNoKey, Route: a.route, Detail: "key " + old.Key() + " is in use no more"}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.permit, a.written, a.refused = permit, false, err
	a.began = time.Now()
	if err != nil {
		a.cancel(err)
	} else if a.idle != nil {
		a.idle.Reset(a.t.Timeout)
	}
}

var errSentAgain = errors.New("riftrelay: a kept connection was dead")

func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused != nil && info.Conn != nil {
		info.Conn.Close() // nothing goes out on it
	}
	if conn, ok := info.Conn.(*tls.Conn); ok {
		a.http2 = conn.ConnectionState().NegotiatedProtocol == "h2"
	}
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
		b.a.idle.Reset(b.a.t.Timeout)
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
