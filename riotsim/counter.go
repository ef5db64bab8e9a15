package riotsim

import (
	"slices"

	"riftrelay/route"
)

// Kind is the kind of a 429, or of the scope that answers with it.
type Kind uint8

const (
	None        Kind = iota // not a 429
	Application             // key + host (R4)
	Method                  // key + host + method (R4)
	Service                 // host + method, shared by all keys (R4)
	Server                  // undocumented, without limit headers, not counted (R13)
	Untyped                 // an underlying service rejected: no X-Rate-Limit-Type (R13)
	kinds
)

// String returns the value of X-Rate-Limit-Type, "none" for None and "untyped" for Untyped.
func (k Kind) String() string {
	return [...]string{"none", "application", "method", "service", "server", "untyped"}[min(k, Untyped)]
}

// scopeID names a budget. Methods are named by their label, not their pointer, so that callers with
// a route.Table of their own share the budgets of the edge's table.
type scopeID struct {
	kind              Kind
	key, host, method string
}

// scope is one budget: windows that are raised together.
type scope struct {
	id       scopeID
	method   *route.Method // nil for Application
	windows  []*window     // by length, shortest first
	text     [2]string     // the limit header, Descending and Ascending
	counted  int
	accepted int
	rejected int // calls that were answered 429 in the name of this scope
}

// raise counts an arrival in every window and reports whether any was full. None is spared: each
// entry is independent (R1), and counts before it checks (R2).
func (s *scope) raise(now int64) (full bool) {
	s.counted++
	for _, w := range s.windows {
		if w.raise(now) {
			full = true
		}
	}
	return full
}

// frees returns how many nanoseconds after now all windows that are full have room again.
func (s *scope) frees(now int64) (wait int64) {
	for _, w := range s.windows {
		if w.kind == Sliding && w.took.len() >= w.N || w.kind != Sliding && w.count > w.N {
			wait = max(wait, int64(w.frees(now)))
		}
	}
	return wait
}

func (s *scope) accept() {
	s.accepted++
	for _, w := range s.windows {
		w.accepted++
	}
}

// counters is the pure core: every budget of the edge. It has no clock and no lock; Edge owns it.
type counters struct {
	kind             WindowKind
	watch            bool
	keyLimit         func(key string) []Limit
	app, method, svc rules
	shared           []Shared
	scopes           map[scopeID]*scope
	order            []*scope // as they appeared, for reports
}

// count raises every counter that the call passes and says which of them refuses it.
func (c *counters) count(now int64, call Call) (t tally) {
	if call.Method.Auth != route.AuthRSO { // R5: no application limit
		t.app = c.scope(scopeID{Application, call.Key, call.Host, ""}, call.Method)
	} else {
		call.Key = "" // R5: one method budget for all users
	}
	t.meth = c.scope(scopeID{Method, call.Key, call.Host, call.Method.String()}, call.Method)

	fullApp := t.app != nil && t.app.raise(now)
	fullMethod := t.meth.raise(now) // R2: also when the application limit has refused already
	switch {
	case fullApp:
		t.refuse(Application, t.app, now)
	case fullMethod:
		t.refuse(Method, t.meth, now)
	case len(c.svc) > 0:
		// The service is behind the edge: a call that the edge refuses never reaches its counter.
		if t.svc = c.scope(scopeID{Service, "", call.Host, call.Method.String()}, call.Method); t.svc.raise(now) {
			t.refuse(Service, t.svc, now)
		}
	}
	return t
}

// tally is what counting one call came to.
type tally struct {
	app, meth, svc *scope // nil where the call has no such scope
	refused        Kind
	wait           int64 // nanoseconds until the refusing scope has room
}

func (t *tally) refuse(k Kind, s *scope, now int64) {
	t.refused, t.wait = k, s.frees(now)
	s.rejected++
}

// full returns the scope that refuses the call.
func (t *tally) full() *scope {
	switch t.refused {
	case Application:
		return t.app
	case Method:
		return t.meth
	default:
		return t.svc
	}
}

func (t *tally) accept() {
	for _, s := range [...]*scope{t.app, t.meth, t.svc} {
		if s != nil {
			s.accept()
		}
	}
}

func (c *counters) scope(id scopeID, m *route.Method) *scope {
	if s := c.scopes[id]; s != nil {
		return s
	}
	own := id
	if id.kind == Method {
		for _, sh := range c.shared {
			if selectsMethod(sh.Method, m) && slices.Contains(sh.Hosts, id.host) {
				own.host = sh.Hosts[0] // R8
			}
		}
	}
	s := c.scopes[own]
	if s == nil {
		s = &scope{id: own, method: m}
		if own.kind == Application {
			s.method = nil
		}
		c.setLimits(s, 0)
		c.scopes[own] = s
		c.order = append(c.order, s)
	}
	c.scopes[id] = s
	return s
}

// limitsOf returns the limits that hold for a scope now.
func (c *counters) limitsOf(s *scope) []Limit {
	switch s.id.kind {
	case Application:
		if limits, ok := c.app.find(s.id.key, s.id.host, nil); ok {
			return limits
		}
		return c.keyLimit(s.id.key)
	case Method:
		limits, _ := c.method.find(s.id.key, s.id.host, s.method)
		return limits
	default:
		limits, _ := c.svc.find("", s.id.host, s.method)
		return limits
	}
}

// setLimits returns a scope the limits that hold now. A window that stays keeps its count (R6).
func (c *counters) setLimits(s *scope, now int64) {
	limits := c.limitsOf(s)
	windows := make([]*window, len(limits))
	for i, l := range limits {
		at := slices.IndexFunc(s.windows, func(w *window) bool { return w.Per == l.Per })
		if at < 0 {
			windows[i] = &window{Limit: l, kind: c.kind, watch: c.watch}
			continue
		}
		windows[i] = s.windows[at]
		windows[i].change(l.N, now)
	}
	s.windows = windows
	s.text[Ascending] = s.header(Ascending, AllCounts, 0, limitOf)
	s.text[Descending] = s.header(Descending, AllCounts, 0, limitOf)
}

// refresh applies changed rules to the budgets of one kind that exist.
func (c *counters) refresh(kind Kind, now int64) {
	for _, s := range c.order {
		if s.id.kind == kind {
			c.setLimits(s, now)
		}
	}
}
