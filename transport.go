package riftrelay

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"riftrelay/limit"
	"riftrelay/route"
)

// Transport is the whole pipeline as an http.RoundTripper: it finds the route
// of a request, waits until Riot's limits admit it, sends it with the key that
// was chosen, and learns from the answer. Requests are for
// https://{host}.api.riotgames.com/…, or have no host and a path
// /{host}/…; where URL.Opaque is a path, it is sent byte for byte.
//
// RoundTrip returns a *RejectedError for what was not sent, ErrUpstreamTimeout,
// the error of the request's context, or that of Base. A 429 goes through
// admission again, at most 3 times and within the call's deadline, before the
// caller sees it. Requests whose body is larger than 64 KiB, or of unknown
// length without GetBody, are sent once.
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

	// Timeout bounds the wait for the head of the answer, and then each wait
	// for more of its body. 0 means no bound.
	Timeout time.Duration

	once    sync.Once
	base    http.RoundTripper
	targets targets
	err     error // of Upstream
}

const (
	maxRetries     = 3        // after a 429
	maxReplay      = 64 << 10 // bytes of a request body kept for a retry
	maxRefusalBody = 64 << 10 // bytes of a 429's body kept while a retry is tried
)

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.once.Do(t.init)
	o := optionsFrom(req.Context())
	report := o.Report
	if report == nil {
		report = new(Report)
	}
	*report = Report{}

	// 1 route
	r, path, err := t.route(req)
	if err != nil {
		closeBody(req)
		t.Limiter.tell(AdmissionEvent{Priority: o.Priority, Reason: ReasonInvalidRoute})
		return nil, err
	}
	report.Route = r
	body, err := replayable(req)
	if err != nil {
		return nil, err
	}

	deadline := t.Limiter.deadline(req.Context(), o)
	var refused *http.Response // the 429 of the last try
	for try := 0; ; try++ {
		// 2 admit
		begin := time.Now()
		permit, err := t.Limiter.acquire(req.Context(), r, o, deadline, try > 0)
		report.Waited += time.Since(begin)
		if err != nil {
			closeBody(req)
			if refused != nil && req.Context().Err() == nil {
				return refused, nil // no time for another try: the caller sees Riot's answer
			}
			return nil, err
		}
		report.Tries++
		report.Key = permit.Key()

		// 3 forward
		a := &attempt{t: t, parent: req.Context(), route: r, options: o, deadline: deadline, permit: permit, began: time.Now()}
		resp, err := a.send(t.outgoing(req, r, path, permit, body))
		if err != nil {
			return nil, err
		}

		// 4 observe
		again := try < maxRetries && body.again()
		lesson := a.observe(resp, again)
		if lesson.Kind == limit.NotLimited || !again {
			t.sign(resp, permit)
			return resp, nil
		}
		if refused, err = keep(resp); err != nil {
			return nil, err
		}
		t.sign(refused, permit)
	}
}

// route finds where a request goes, and its escaped path as it will be sent.
func (t *Transport) route(req *http.Request) (r route.Route, path string, err error) {
	if t.err != nil {
		return route.Route{}, "", t.err
	}
	table := t.Limiter.cfg.Table
	path = req.URL.Opaque
	if !strings.HasPrefix(path, "/") {
		path = req.URL.EscapedPath()
	}
	host, riot := strings.CutSuffix(strings.TrimSuffix(req.URL.Host, ":443"), riotDomain)
	switch {
	case riot && req.URL.Scheme == "https":
	case req.URL.Host == "":
		host, path, err = table.Split(path)
	default:
		err = errors.New("the URL is not one of Riot's; allowed: https://{host}" + riotDomain + "/…")
	}
	if err == nil {
		r, err = table.Match(req.Method, host, path)
	}
	if err != nil {
		return route.Route{}, "", &RejectedError{Reason: ReasonInvalidRoute, Err: err}
	}
	return r, path, nil
}

// outgoing makes the request that goes to Riot.
func (t *Transport) outgoing(req *http.Request, r route.Route, path string, permit Permit, body *replay) *http.Request {
	to := t.targets.of(r.Host)
	out := new(http.Request)
	*out = *req
	u := *req.URL
	u.Scheme, u.Host, u.User, u.Path, u.RawPath = to.scheme, to.dial, nil, "", ""
	u.Opaque = to.prefix + path // R23: the escaped path, byte for byte
	u.Fragment, u.RawFragment = "", ""
	out.URL, out.Host = &u, to.host
	out.RequestURI = ""
	out.Header = make(http.Header, len(req.Header)+1)
	for name, values := range req.Header {
		// R5: a player's token goes with RSO calls only, and never with a key.
		if name == "X-Riot-Token" || name == "Authorization" && r.Method.Auth != route.AuthRSO {
			continue
		}
		out.Header[name] = values
	}
	if body != nil {
		out.Body = body.reader()
	}
	out.GetBody = nil // nothing is sent a second time below admission
	permit.Authorize(out.Header)
	return out
}

// sign says who answered, and on which key.
func (t *Transport) sign(resp *http.Response, permit Permit) {
	resp.Header["X-Riftrelay-Source"] = sourceRiot
	if permit.key >= 0 {
		resp.Header["X-Riftrelay-Key"] = []string{permit.Key()}
	}
}

var sourceRiot = []string{"riot"}

// keep reads the body of a 429, so that it can be given to the caller if no
// further try is possible, and frees its connection.
func keep(resp *http.Response) (*http.Response, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusalBody))
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, nil
}

// replay is the body of a request that can be sent again.
type replay struct {
	data   []byte
	stream io.ReadCloser // instead: too large to keep, sent once
	fresh  func() (io.ReadCloser, error)
}

// replayable reads a small body into memory. Nil is no body.
func replayable(req *http.Request) (*replay, error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return nil, nil
	case req.ContentLength <= 0 || req.ContentLength > maxReplay: // 0 with a body means unknown
		return &replay{stream: req.Body, fresh: req.GetBody}, nil
	}
	data := make([]byte, req.ContentLength)
	_, err := io.ReadFull(req.Body, data)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	return &replay{data: data}, nil
}

// again reports whether the body can be sent once more.
func (b *replay) again() bool {
	if b == nil || b.stream == nil {
		return true
	}
	if b.fresh == nil {
		return false
	}
	stream, err := b.fresh()
	if err != nil {
		return false
	}
	b.stream = stream
	return true
}

func (b *replay) reader() io.ReadCloser {
	if b.stream != nil {
		return b.stream
	}
	return io.NopCloser(bytes.NewReader(b.data))
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
