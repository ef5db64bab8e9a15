// Package proxy is the relay's HTTP face, stage 5 of the pipeline: it turns a
// client's request into one for riftrelay.Transport, which does the rest, and
// the Transport's answer or error into what the client gets.
//
//   - place.go: which host and path, in whichever way the client says it. The
//     raw request target is the truth, never r.URL.Path: an escaped path reaches
//     Riot byte for byte (R23).
//   - connect.go, tunnel.go: CONNECT, to Riot's API and to its static data.
//   - origin.go, clients.go, refusal.go: who may call, and what; usage.go: what
//     each of them does.
//   - inbound.go: which headers go up, what the control headers ask for;
//     body.go: the request's body.
//   - stream.go: the answer's way down.
//   - respond.go: error → status, headers and body; nowhere else.
//   - page.go: what isn't a call at all ("/", /healthz, /favicon.ico).
//
// It is a handler of its own rather than httputil.ReverseProxy, because nearly
// all that would have to be undone: the parsed path, the cleaned query, headers
// passed by default, a body's failure noticed too late to answer with a status.
package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// Who speaks: the values of X-RiftRelay-Source.
const (
	SourceRiot  = "riot"
	SourceRelay = "relay"
)

// StatusClientGone is what metrics and logs say of a client that left before
// its answer was complete. It is never sent.
const StatusClientGone = 499

// Handler is the relay as an http.Handler. Make it with New.
//
// Put nothing in front of it that rewrites a path, such as http.ServeMux.
type Handler struct {
	transport http.RoundTripper
	table     *route.Table
	keys      func() []string
	names     map[string]string // listed host → its name at Riot
	roots     map[string]bool   // first segments of Riot's paths
	userAgent []string
	page      page
	local     map[string]http.Handler
	explorer  http.Handler // nil = none

	bodies     bodyRoom
	maxWait    time.Duration
	stripRates bool
	limits     func(route.Route) []riftrelay.ScopeState
	connect    *Connect

	clients atomic.Pointer[clients] // nil = everybody may call
	cors    cors
	hosts   map[string]bool // nil = all
	tlsOnly bool

	deprecations deprecations

	secret     func(string) bool
	wrongToken func(*http.Request)

	observer Observer
	trace    func(*http.Request) (context.Context, func(route.Route, int, string))
	log      *slog.Logger
}

// New checks o and makes a Handler.
func New(o Options) (*Handler, error) {
	if o.Transport == nil {
		return nil, errors.New("proxy: Options.Transport is nil; allowed: a RoundTripper")
	}
	if o.Table == nil {
		return nil, errors.New("proxy: Options.Table is nil; allowed: the table that the transport routes with")
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Keys == nil {
		o.Keys = func() []string { return nil }
	}
	if o.MaxBody == 0 {
		o.MaxBody = 1 << 20
	}
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Secret == nil {
		o.Secret = func(string) bool { return false }
	}
	if o.WrongToken == nil {
		o.WrongToken = func(*http.Request) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{
		transport: o.Transport,
		table:     o.Table,
		keys:      o.Keys,
		names:     make(map[string]string),
		roots:     roots(o.Table),
		userAgent: []string{"riftrelay/" + o.Version},
		page:      newPage(o),
		local:     o.Local,
		explorer:  o.Explorer,

		maxWait:    o.MaxWait,
		stripRates: o.StripRateHeaders,
		limits:     o.Limits,
		connect:    o.Connect,

		cors:    newCORS(o.Origins),
		hosts:   hostSet(o.Hosts),
		tlsOnly: o.TLSOnly,

		secret:     o.Secret,
		wrongToken: o.WrongToken,

		observer: o.Observer,
		trace:    o.Trace,
		log:      o.Logger,
	}
	for _, host := range o.Table.Hosts() {
		h.names[host] = host + domain
	}
	h.bodies.most = int64(o.MaxBody)
	h.SetClients(o.Clients)
	return h, nil
}

// ServeHTTP serves one request: a call to Riot, or one of the few things that
// aren't.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{start: time.Now(), id: h.identify(w.Header(), r)}
	h.cors.permit(w.Header(), first(r.Header["Origin"]))
	if r.Method == http.MethodConnect && r.ProtoMajor == 1 {
		// Of one that is refused. What is behind it was meant for somebody
		// else, and is no request.
		w.Header().Set("Connection", "close")
	}
	barred := h.entrance(r)
	if barred == nil && h.serveApart(w, r, c) {
		return
	}
	to, err := h.target(r)
	if err == nil {
		to.route, to.unknown = h.table.Match(r.Method, to.host, to.path)
	}
	if barred == nil && noCall(err) {
		h.serveLocal(w, r, err)
		return
	}
	defer h.finish(r, c)
	if h.trace != nil {
		var ctx context.Context
		ctx, c.traced = h.trace(r)
		r = r.WithContext(ctx)
	}

	if barred == nil {
		barred = h.cors.check(r)
	}
	if barred == nil {
		c.client, c.token, barred = h.admit(r, to, err)
		c.begun()
	}
	if barred != nil { // before what is wrong with the target: that is nobody's business
		err = barred
	}
	var out *http.Request
	if err == nil {
		out, err = h.outbound(r, to, c)
	}
	if err == nil {
		c.body, err = h.bodies.read(w, r)
		defer h.bodies.release(c.body)
	}
	if err != nil {
		h.refuse(w, r, c, err)
		return
	}
	setBody(out, c.body)
	h.started(c)
	c.waits(true)
	res, err := h.transport.RoundTrip(out)
	if err != nil {
		h.fail(w, r, c, err)
		return
	}
	defer res.Body.Close()
	h.answer(w, r, c, res)
}

// serveApart serves what has no target among Riot's methods, and reports
// whether the request was such.
func (h *Handler) serveApart(w http.ResponseWriter, r *http.Request, c *call) bool {
	switch {
	case h.connect != nil && r.Method == http.MethodConnect:
		h.serveConnect(w, r, c)
	case h.cors.preflight(w, r):
	case r.Method == http.MethodOptions && r.RequestURI == "*": // is there somebody?
		w.Header().Set("X-Riftrelay-Source", SourceRelay)
		w.Header().Set("Content-Length", "0")
	case h.explorer != nil && explores(r.RequestURI):
		h.explorer.ServeHTTP(w, r)
	default:
		return false
	}
	return true
}

// started tells the observer of a call, once.
func (h *Handler) started(c *call) {
	if !c.started {
		c.started = true
		h.observer.Started(c.route, c.priority)
	}
}

// finish tells observer and log how a call ended, also when the handler
// panicked to break the client's connection.
func (h *Handler) finish(r *http.Request, c *call) {
	if c.status == 0 { // a panic that is no answer of ours
		c.status, c.source = http.StatusInternalServerError, SourceRelay
	}
	took := time.Since(c.start)
	h.started(c)
	h.observer.Done(c.route, c.priority, c.status, c.source, took)
	c.ended()
	if c.client != nil {
		h.observer.ClientDone(c.client.Name, c.status)
	}
	if c.traced != nil {
		c.traced(c.route, c.status, c.source)
	}
	h.logCall(r, c, took)
}

func (nobody) Started(route.Route, riftrelay.Priority)                          {}
func (nobody) Done(route.Route, riftrelay.Priority, int, string, time.Duration) {}
func (nobody) ClientDone(string, int)                                           {}
func (nobody) Deprecated(*route.Method, time.Time)                              {}
func (nobody) Refused(riftrelay.Reason)                                         {}
