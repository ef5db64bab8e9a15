package riftrelay

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/route"
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

const (
	maxResends = 4        // times that a call is sent again in net/http's stead
	maxKept    = 64 << 10 // bytes of an answer's body kept while a further try waits
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
		t.Limiter.tell(req.Context(), AdmissionEvent{Priority: o.Priority, Reason: ReasonInvalidRoute})
		return nil, err
	}
	report.Route = r
	body := newReplay(req)

	var c *choice
	if keyFrom(req.Context()) == "" {
		c = t.choose(r, path, o)
	}
	if c != nil {
		with := *o
		with.choice = c
		o = &with
	}
	deadline := t.Limiter.deadline(req.Context(), o)
	to := t.targets.of(r.Host)
	var last outcomeOfTry
	for try, repeats, resends := 1, 0, 0; ; try++ {
		// 2 admit
		begin := time.Now()
		permit, err := t.Limiter.acquire(req.Context(), r, o, deadline, try)
		report.Waited += time.Since(begin)
		if err != nil {
			closeBody(req)
			if last.known() && req.Context().Err() == nil {
				return last.resp, last.err // no time for another try: the caller sees what Riot said
			}
			return nil, err
		}
		report.Tries = try
		report.Key = permit.Key()
		t.retries.called()

		// 3 forward
		a := &attempt{t: t, parent: req.Context(), route: r, priority: o.Priority, to: to, try: try, permit: permit, body: body, began: time.Now()}
		err = a.outgoing(req, path)
		var resp *http.Response
		if err == nil {
			resp, err = a.send()
		}

		// 4 observe
		lesson := a.observe(resp, err)
		limited := lesson.Kind != limit.NotLimited
		again, rest := false, 0
		moves := t.moves(c, r, o, permit, resp, lesson.elsewhere)
		switch {
		case moves:
			again = body.again()
		case limited:
			again = body.again()
		case errors.Is(err, errStopped):
			again = body.again()
		case errors.Is(err, errSentAgain) && repeatable(req), takenBack(err):
			rest = resends // the first goes at once, as net/http's would
			resends++
			again = resends <= maxResends && body.again()
		case repeatable(req) && t.Retry.wants(resp, err, a.sent()):
			repeats++
			rest = repeats
			again = repeats <= maxRepeats && t.retries.take()
		}
		if resp != nil {
			a.sign(resp)
			again = again && keep(resp)
		}
		a.done(resp, err, lesson.Lesson, again)
		if again && rest > 0 {
			again = pause(req.Context(), rest) == nil
		}
		if !again {
			return resp, err
		}
		if !errors.Is(err, errStopped) {
			last = outcomeOfTry{resp, err}
		}
	}
}

// outcomeOfTry is what Riot said, or did, at a try that another one follows.
type outcomeOfTry struct {
	resp *http.Response
	err  error
}

func (o outcomeOfTry) known() bool { return o.resp != nil || o.err != nil }

// repeatable reports whether Riot may be sent the request twice: POST and PUT
// make tournament codes, which must not double (R21).
func repeatable(req *http.Request) bool {
	return (req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == "") && (req.Body == nil || req.Body == http.NoBody)
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
	host, riot := strings.CutSuffix(strings.TrimSuffix(strings.ToLower(req.URL.Host), ":443"), riotDomain) // a name of DNS: in any case
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
func (a *attempt) outgoing(req *http.Request, path string) error {
	out, u, to := &a.out, &a.url, &a.to
	*out, *u = *req, *req.URL
	u.Scheme, u.Host, u.User, u.Path, u.RawPath = to.scheme, to.dial, nil, "", ""
	u.Opaque = to.prefix + path // R23: the escaped path, byte for byte
	u.Fragment, u.RawFragment = "", ""
	out.URL, out.Host = u, to.host
	out.RequestURI = ""
	out.Header = make(http.Header, len(req.Header)+1)
	for name, values := range req.Header {
		// R5: a player's token goes with RSO calls only, and never with a key.
		if name == "X-Riot-Token" || name == "Authorization" && a.route.Method.Auth != route.AuthRSO {
			continue
		}
		out.Header[name] = values
	}
	if a.body != nil {
		var err error
		if out.Body, err = a.body.reader(); err != nil {
			return err
		}
	}
	out.GetBody = nil // nothing is sent a second time below admission
	if key := a.permit.key; key != nil {
		a.token[0] = key.Value
		out.Header["X-Riot-Token"] = a.token[:]
	}
	return nil
}

// sign says who answered, and on which key.
func (a *attempt) sign(resp *http.Response) {
	for name := range resp.Header {
		if strings.HasPrefix(name, "X-Riftrelay-") { // nobody else speaks for the relay
			delete(resp.Header, name)
		}
	}
	resp.Header["X-Riftrelay-Source"] = sourceRiot
	if key := a.permit.key; key != nil {
		a.name[0] = key.Name
		resp.Header["X-Riftrelay-Key"] = a.name[:]
	}
}

var sourceRiot = []string{SourceRiot}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
