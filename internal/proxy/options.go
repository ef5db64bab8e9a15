package proxy

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// Options describe a Handler.
type Options struct {
	// Transport sends the calls: a *riftrelay.Transport, with Waits among the
	// hooks of its limiter. It must return with *riftrelay.RejectedError what it
	// didn't send. Required.
	Transport http.RoundTripper

	// Table is the one that Transport routes with. Required.
	Table *route.Table

	// Keys returns the names of the keys that X-Riot-Token-Index may choose from,
	// now. Nil means none.
	Keys func() []string

	// Version is shown on the page and sent as "riftrelay/<version>" where the
	// client names no User-Agent. Empty means "dev".
	Version string

	// AdminAddr and Docs are shown on the page: the admin listener's address
	// and a link to the documentation. Empty leaves them out.
	AdminAddr, Docs string

	// StripRateHeaders keeps Riot's X-App-Rate-Limit, X-Method-Rate-Limit and
	// their counts from clients, which then don't pace themselves a second time.
	StripRateHeaders bool

	// MaxBody is how many bytes a request's body may have. 0 means 1 MiB.
	MaxBody int

	// MaxWait is the longest wait that X-Max-Wait can ask for. 0 means any.
	MaxWait time.Duration

	// Limits returns what 429s of the relay's say of a route's limits: those of
	// riftrelay.Limiter. Nil means that they say nothing.
	Limits func(route.Route) []riftrelay.ScopeState

	// Connect serves CONNECT. Nil means that it is refused.
	Connect *Connect

	// Clients are those who may use the relay. None means everybody.
	// Handler.SetClients replaces them.
	Clients []Client

	// Origins are those whose pages may use the relay from a browser, as in
	// "https://app.example"; "*" means all. With none, pages of other sites are
	// refused.
	Origins []string

	// Hosts are the names that the relay answers to, in lower case, besides
	// addresses, localhost and Riot's; "*" means all, and so does nil.
	Hosts []string

	// TLSOnly refuses plain http, but for health and CONNECT.
	TLSOnly bool

	// Local are the handlers of paths of one segment ("/healthz") that the
	// relay answers itself. They are no calls: neither Observer nor Logger
	// hears of them.
	Local map[string]http.Handler

	// Explorer serves /swagger and all that is below, so that no host of that
	// name can be called. Like those of Local, what it answers are no calls.
	// Nil means none.
	Explorer http.Handler

	// Secret reports whether a text has a key in it, so that an answer's header
	// with that value stays here. Nil looks for the form of Riot's keys only.
	Secret func(text string) bool

	// WrongToken hears of a call without a client's token before it is refused,
	// and may keep the answer back. Nil means nobody does.
	WrongToken func(*http.Request)

	// Observer hears of every call. Nil means nobody listens.
	Observer Observer

	// Trace embraces each call, for a span: it returns the context that the call
	// goes on with, and what to call at its end with what Observer.Done hears.
	// Nil means none.
	Trace func(*http.Request) (context.Context, func(r route.Route, status int, source string))

	// Logger gets one line for each call at debug level. Nil discards.
	Logger *slog.Logger
}

// Observer hears of calls, for metrics. Its methods are called from many
// goroutines and should return at once. Requests that are no calls ("/",
// /healthz, /favicon.ico, any path of one segment) are not mentioned.
type Observer interface {
	// Started is called when a call goes to the transport, or when it is
	// refused before. The route is zero when there was none.
	Started(r route.Route, p riftrelay.Priority)
	// Done is called once for each Started, with the same route and priority,
	// when the client has its answer. Status is what the client got, or
	// StatusClientGone, or 502 and 504 for an answer that broke off; source is
	// SourceRiot or SourceRelay.
	Done(r route.Route, p riftrelay.Priority, status int, source string, took time.Duration)
	// ClientDone is called after Done for a call of a named client.
	ClientDone(name string, status int)
	// Deprecated is called for each answer that says that Riot is going to
	// switch the method off. The zero Time means that it doesn't say when.
	Deprecated(m *route.Method, end time.Time)
	// Refused is called for what is refused here and therefore never reaches
	// the limiter, which tells its own hooks about the rest.
	Refused(reason riftrelay.Reason)
}

type nobody struct{}
