package riftrelay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"riftrelay/internal/handoff"
	"riftrelay/route"
)

// call is one call on its way through the pipeline, over all of its tries.
type call struct {
	t        *Transport
	req      *http.Request // of the caller
	route    route.Route
	path     string // escaped, as it will be sent
	to       target
	options  Options
	body     *replay
	deadline time.Time // of admission, for all tries
	handoff  *handoff.Call
	context  reported // the request's context, with the report
	failures int      // tries that Transport.Retry has followed by another one
	resends  int      // tries that Riot did not process
	http2    bool     // the latest try had a connection of HTTP/2
	last     answer   // of the latest try that another one follows

	first    attempt      // one allocation with the call: most have no second
	answered http.Request // the caller's, for the answer
}

// answer is Riot's answer to one try, or the failure in its place.
type answer struct {
	resp *http.Response
	err  error
}

// newCall finds the route of a request, and what its context asks for.
func (t *Transport) newCall(req *http.Request) (*call, error) {
	t.once.Do(t.init)
	if t.err != nil {
		return nil, t.err
	}
	ctx := req.Context()
	c := &call{t: t, req: req, options: *optionsFrom(ctx), handoff: handoff.From(ctx), context: reported{Context: ctx}}
	if t.Options != nil {
		c.options = t.Options(req, c.options)
	}
	if err := c.findRoute(); err != nil {
		t.Limiter.tell(ctx, AdmissionEvent{Priority: c.options.Priority, Reason: ReasonInvalidRoute})
		return nil, err
	}
	c.context.report.Route = c.route
	c.to = t.targets.of(c.route.Host)
	c.body = newReplay(req)
	if c.options.Key.Value == "" {
		c.options.choice = t.choose(c.route, c.path, &c.options)
	}
	c.deadline = t.Limiter.deadline(ctx, &c.options)
	return c, nil
}

// findRoute finds where a call goes, and its escaped path.
func (c *call) findRoute() (err error) {
	u := c.req.URL
	c.path = u.Opaque
	if !strings.HasPrefix(c.path, "/") {
		c.path = u.EscapedPath()
	}
	if c.handoff != nil && c.handoff.Route.Method != nil {
		c.route = c.handoff.Route
		return nil
	}
	table := c.t.Limiter.cfg.Table
	host, riot := strings.CutSuffix(strings.TrimSuffix(strings.ToLower(u.Host), ":443"), riotDomain) // DNS ignores case
	switch {
	case riot && u.Scheme == "https":
	case u.Host == "":
		host, c.path, err = table.Split(c.path)
	default:
		err = errors.New("the URL is not one of Riot's; allowed: https://{host}" + riotDomain + "/…")
	}
	if err == nil {
		c.route, err = table.Match(c.req.Method, host, c.path)
	}
	if err != nil {
		return &RejectedError{Reason: ReasonInvalidRoute, Err: err}
	}
	if c.handoff != nil {
		c.handoff.Route = c.route
	}
	return nil
}

// acquire waits until the next try is admitted.
func (c *call) acquire() (Permit, error) {
	began, report := time.Now(), &c.context.report
	permit, err := c.t.Limiter.acquire(c.req.Context(), c.route, &c.options, c.deadline, report.Tries+1)
	report.Waited += time.Since(began)
	if err == nil {
		report.Tries++
		report.Key = permit.Key()
		c.t.retries.called()
	}
	if h := c.handoff; h != nil {
		h.Key, h.Waited, h.Tries = report.Key, report.Waited, report.Tries
	}
	return permit, err
}

// lastAnswerOr ends a call that was not admitted again. If Riot has answered an
// earlier try, the caller gets that answer: there is no time for another one.
func (c *call) lastAnswerOr(err error) (*http.Response, error) {
	closeBody(c.req)
	if (c.last.resp != nil || c.last.err != nil) && c.req.Context().Err() == nil {
		return c.last.resp, c.last.err
	}
	return nil, err
}

// send makes one try at Riot.
func (c *call) send(permit Permit) (*attempt, answer) {
	a := &c.first
	if c.context.report.Tries > 1 {
		a = new(attempt) // net/http may hold on to the first
	}
	a.call, a.permit, a.began = c, permit, time.Now()
	got := a.send()
	return a, got
}

// prepare makes ready for another try, for the given reason, and reports whether
// there can be one: the body has to be sent again, and the answer is kept for
// the caller in case that no further try is admitted.
func (c *call) prepare(why retryReason, last answer) bool {
	switch {
	case !c.body.again():
		return false
	case why == retryUnprocessed:
		c.resends++
	case why == retryFailure:
		if !c.t.retries.take() {
			return false
		}
		c.failures++
	}
	return last.resp == nil || keep(last.resp)
}

// pause waits before a try that follows a failure, and reports whether the
// caller is still there.
func (c *call) pause(why retryReason) bool {
	n := 0
	switch why {
	case retryUnprocessed:
		n = c.resends - 1 // the first goes at once, as net/http's would
	case retryFailure:
		n = c.failures
	case noRetry, retryOtherKey, retryLimited, retryUnsent:
	}
	return n == 0 || pause(c.req.Context(), n) == nil
}

// sign marks an answer as Riot's, with the key's name. The answer's request is
// the caller's, not the one with the key.
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
	c := a.call
	c.answered = *a.sent
	c.answered.URL, c.answered.Host, c.answered.Header, c.answered.Body, c.answered.GetBody = c.req.URL, c.req.Host, c.req.Header, c.req.Body, c.req.GetBody
	resp.Request = &c.answered
}

var sourceRiot = []string{sourceOfRiot}

// reported is the context of a call, and of its answer's Request, for ReportOf.
type reported struct {
	context.Context
	report Report
}

type reportKey struct{}

func (r *reported) Value(key any) any {
	if key == (reportKey{}) {
		return &r.report
	}
	return r.Context.Value(key)
}

// ReportOf returns how Transport served the call behind an answer of its. ok is
// false for the answers of other transports.
func ReportOf(resp *http.Response) (r Report, ok bool) {
	if resp == nil || resp.Request == nil {
		return Report{}, false
	}
	p, ok := resp.Request.Context().Value(reportKey{}).(*Report)
	if !ok {
		return Report{}, false
	}
	return *p, true
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// ended returns why a context ended: its Err, and its cause where that says more.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}
