package riftrelay

import (
	"net/http"
	"sync"
	"time"
)

// Transport is the whole pipeline as an http.RoundTripper: it finds the route
// of a request, waits until Riot's limits admit it, sends it with the key that
// was chosen, and learns from the answer. Requests are for
// https://{host}.api.riotgames.com/…, or have no host and a path
// /{host}/…; where URL.Opaque is a path, it is sent byte for byte.
//
// RoundTrip returns a *RejectedError for what was not sent, ErrUpstreamTimeout,
// the error of the request's context, or that of Base. A call that met a 429
// goes through admission again until its deadline; only then does the caller see
// the 429. A request that the server did not process by its own word goes through
// admission again too. A request whose body was read is sent again only if it has GetBody, as
// http.NewRequest sets it for bodies in memory.
//
// The fields must not change once RoundTrip has been called.
type Transport struct {
	// Limiter admits. It must not be nil.
	Limiter *Limiter

	// Base sends. Nil means NewBase(BaseOptions{}). It must not follow
	// redirects and should call the hooks of net/http/httptrace: without them,
	// a call counts as sent when its answer or failure comes.
	Base http.RoundTripper

	// Upstream is where to send: a URL in which "{host}" stands for the
	// routing value. Empty means DefaultUpstream. The Host header is
	// {host}.api.riotgames.com whatever is dialled.
	Upstream string

	// Options, if set, is called once for each call, with the options of its
	// context, and returns those to admit it with: a priority or a budget by route,
	// in one place.
	Options func(req *http.Request, o Options) Options

	// Timeout bounds the wait for the head of the answer, and then each wait
	// for more of its body. 0 means no bound.
	Timeout time.Duration

	// Retry says after which failures other than a 429 a call is tried again.
	// The zero value is never.
	Retry Retry

	retries allowance
	once    sync.Once
	base    http.RoundTripper
	targets targets
	err     error // of Upstream
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c, err := t.newCall(req) // 1 route
	if err != nil {
		closeBody(req)
		return nil, err
	}
	for {
		permit, err := c.acquire() // 2 admit
		if err != nil {
			return c.lastAnswerOr(err)
		}
		try, answer := c.send(permit) // 3 forward
		lesson := try.observe(answer) // 4 observe
		why := try.retry(answer, lesson)
		if answer.resp != nil {
			try.sign(answer.resp)
		}
		again := why != noRetry && c.prepare(why, answer)
		try.tell(answer, lesson, again)
		if !again || !c.pause(why) {
			return answer.resp, answer.err
		}
		if why != retryUnsent {
			c.last = answer
		}
	}
}
