package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"riftrelay"
	"riftrelay/internal/handoff"
	"riftrelay/route"
)

const domain = ".api.riotgames.com"

const allowedVerbs = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

func invalidRoute(status int, detail string) error {
	return &riftrelay.RejectedError{
		Reason: riftrelay.ReasonInvalidRoute,
		Err:    &route.Error{Status: status, Reason: route.ReasonInvalidRoute, Problem: route.Malformed, Detail: detail},
	}
}

// noCall reports whether an error of target says that there is no path for
// Riot: "/", "/favicon.ico", "/euw1/".
func noCall(err error) bool {
	bad := problem(err)
	return bad != nil && bad.Problem == route.NoPath
}

// problem finds what the table had against a request; nil if nothing.
func problem(err error) *route.Error {
	if err == nil {
		return nil
	}
	var bad *route.Error // on the heap, for errors.As
	if !errors.As(err, &bad) {
		return nil
	}
	return bad
}

// upgrade names the protocol that a client wants to change to, or is empty.
// h2c is left out: Java's client offers it with each plain request, and
// RFC 9110 lets a server go on as if nothing had been said.
func upgrade(h http.Header) string {
	for _, v := range h["Upgrade"] {
		for p := range strings.SplitSeq(v, ",") {
			if p = strings.TrimSpace(p); p != "" && !strings.EqualFold(p, "h2c") {
				return p
			}
		}
	}
	return ""
}

// outbound makes the request for the transport. c lends it memory.
func (h *Handler) outbound(r *http.Request, to target, c *call) (*http.Request, error) {
	name, listed := h.names[to.host]
	if to.unknown != nil {
		return nil, &riftrelay.RejectedError{Reason: riftrelay.ReasonInvalidRoute, Err: to.unknown}
	}
	if !listed {
		name = to.host + domain
	}
	c.route = to.route
	if len(r.Header["Authorization"]) > 1 && to.rso() {
		return nil, invalidRoute(http.StatusBadRequest, "the request has several Authorization headers; allowed: one")
	}
	if err := h.checkMistakes(to); err != nil {
		return nil, err
	}
	o, err := h.control(r.Header)
	if err != nil {
		return nil, err
	}
	c.client.restrict(&o)
	c.priority = o.Priority
	o.Client = c.owner(r)
	c.handoff.Route = c.route
	// Opaque keeps the escaped path as it is; URL.Path would be escaped anew.
	c.url = url.URL{Scheme: "https", Host: name, Opaque: to.path, RawQuery: to.query, ForceQuery: to.emptyTag}
	out := http.Request{
		Method: r.Method,
		URL:    &c.url,
		Host:   name,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h.headersUp(r, to),
	}
	h.withoutMistakes(out.Header)
	return out.WithContext(riftrelay.WithOptions(handoff.With(c.in(r.Context()), &c.handoff), o)), nil
}

// forwarded are the request headers that go up, in canonical form. All else
// stays here: cookies, a client's key, addresses, our control headers, and
// whatever will be invented. Conditions are in although Riot sends no
// validators today: they cost nothing, and a 304 passes. Range isn't: a part of
// a JSON document is of no use.
var forwarded = [...]string{
	"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language",
	"Content-Encoding", "Content-Language", "Content-Type",
	"If-Modified-Since", "If-None-Match", "User-Agent",
}

// headersUp picks the headers that go up. The slices are the client's own.
// There is no Accept-Encoding unless the client sent one; that the transport
// then adds none either is up to it (riftrelay.NewBase).
func (h *Handler) headersUp(r *http.Request, to target) http.Header {
	up := make(http.Header, 8) // one group of the map's: X-Riot-Token comes later
	for _, name := range forwarded {
		if vv := r.Header[name]; len(vv) > 0 && !hopByHop(r.Header, name) {
			up[name] = vv
		}
	}
	if _, named := up["User-Agent"]; !named {
		// Go's own name says nothing, and some edges turn it away.
		up["User-Agent"] = h.userAgent
	}
	if vv := r.Header["Authorization"]; len(vv) > 0 && !hopByHop(r.Header, "Authorization") {
		// R5: a player's token goes to RSO methods only. Elsewhere it may be
		// meant for us, and is not Riot's business.
		if to.rso() && h.players(vv) {
			up["Authorization"] = vv
		}
	}
	return up
}

// hopByHop reports whether the sender lists the header in Connection.
func hopByHop(h http.Header, name string) bool {
	for _, v := range h["Connection"] {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), name) {
				return true
			}
		}
	}
	return false
}

// control reads the control headers.
func (h *Handler) control(in http.Header) (o riftrelay.Options, err error) {
	if vv := in["X-Priority"]; len(vv) > 0 && strings.EqualFold(strings.TrimSpace(vv[0]), "high") {
		o.Priority = riftrelay.High
	}
	if vv := in["X-Riot-Token-Index"]; len(vv) > 0 {
		names := h.keys()
		i, ok := index(vv[0], len(names))
		if !ok {
			return o, badControl(reasonInvalidTokenIndex, "X-Riot-Token-Index", vv[0], indexRange(len(names)))
		}
		o.Key.Name = names[i]
	}
	if vv := in["X-Rate-Budget"]; len(vv) > 0 {
		o.Budget = strings.TrimSpace(vv[0])
	}
	if vv := in["X-Max-Wait"]; len(vv) > 0 {
		wait, ok := maxWait(vv[0])
		if !ok {
			return o, badControl(riftrelay.ReasonInvalidMaxWait, "X-Max-Wait", vv[0],
				"a duration like 8s or 1m30s, or whole seconds; 0 = now or never")
		}
		if o.MaxWait = wait; h.maxWait > 0 {
			o.MaxWait = min(wait, h.maxWait)
		}
	}
	return o, nil
}

func badControl(reason riftrelay.Reason, header, value, allowed string) error {
	return &riftrelay.RejectedError{Reason: reason, Detail: header + " is " + show(value) + "; allowed: " + allowed}
}

// index reads which of n keys a call is for.
func index(s string, n int) (int, bool) {
	s = strings.TrimSpace(s)
	if s == "" || s[0] < '0' || s[0] > '9' { // Atoi takes signs
		return 0, false
	}
	i, err := strconv.Atoi(s)
	return i, err == nil && i < n
}

func indexRange(n int) string {
	switch n {
	case 0:
		return "none, as no key is configured"
	case 1:
		return "0, as there is one key"
	}
	return "0 to " + strconv.Itoa(n-1)
}

// maxWait reads a Go duration or whole seconds as Options.MaxWait.
func maxWait(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || s[0] != '.' && (s[0] < '0' || s[0] > '9') { // no sign
		return 0, false
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		if d, err = time.ParseDuration(s + "s"); err != nil || strings.Trim(s, "0123456789") != "" {
			return 0, false
		}
	}
	if d == 0 {
		return riftrelay.NowOrNever, true
	}
	return d, true
}

// show quotes a client's bytes for a message: printable and of bounded length.
func show(s string) string {
	const most = 100
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
