// Package admin answers operators who ask what the relay is doing and why, and
// does what they want done about it.
//
//	GET  /api/v1/state                limits, what is used of them, what waits and for what    state.go, clients.go
//	GET  /api/v1/estimate             what a call would wait now                               estimate.go
//	GET  /api/v1/openapi.json         all of this, for machines                                openapi.go
//	POST /api/v1/reload               read the keys again                                      change.go
//	POST /api/v1/keys/{name}/disable  no calls on a key until it is enabled                    change.go
//	POST /api/v1/keys/{name}/enable
//	POST /api/v1/keys/{name}/recheck  try a suspect key with the next call
//
// Who may do so is guard.go's business. The command riftrelay status asks for
// the state and prints it (status.go). Lengths of time are numbers of seconds
// under names that end in _seconds; null is a time that nobody can tell.
package admin

import (
	"encoding/json"
	"net/http"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// Limiter is what is asked and changed: a *riftrelay.Limiter, with the Estimate
// of its Transport.
type Limiter interface {
	// Snapshot describes the state at this moment.
	Snapshot() riftrelay.Snapshot
	// Estimate predicts the wait of the last of several calls with this escaped
	// path that came now, and what holds back the first of them. Its error is a
	// *riftrelay.RejectedError.
	Estimate(r route.Route, path string, calls int, o riftrelay.Options) (time.Duration, riftrelay.Wait, error)
	// DisableKey keeps all calls off a key. Its error, and that of the two
	// below, matches riftrelay.ErrUnknownKey.
	DisableKey(name string) error
	// EnableKey takes a disabled key back.
	EnableKey(name string) error
	// RecheckKey has a suspect key tried now.
	RecheckKey(name string) error
}

// Matcher tells which method a path is. *route.Table is one.
type Matcher interface {
	// Match finds the method; its error says what is wrong with the path.
	Match(verb, host, escapedPath string) (route.Route, error)
}

// Options are what a Handler works with; all but Clients, Connections and Description are needed.
type Options struct {
	Limiter Limiter
	Matcher Matcher
	// Reload reads the keys again; its error, without a key in it, means that
	// they are as they were.
	Reload func() (Reloaded, error)
	Guard  Guard
	// Clients tells of those who have tokens, by name. Nil means that there are
	// none.
	Clients func() []Client
	// Connections tells of clients' connections. Nil means that nobody knows.
	Connections func() []Connections
	// Description serves what Describe gives; nil = not served.
	Description http.Handler
}

// Root is below which Handler serves.
const Root = "/api/v1/"

// Paths are what Handler serves, for people.
var Paths = [...]string{Root + "estimate", Root + "keys/{name}/{disable,enable,recheck}", Root + "openapi.json", Root + "reload", Root + "state"}

// Handler serves what is under Root.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Root+"state", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, o.state())
	})
	mux.HandleFunc("GET "+Root+"estimate", func(w http.ResponseWriter, r *http.Request) {
		status, v := estimate(o.Limiter, o.Matcher, r.URL.Query())
		write(w, status, v)
	})
	if o.Description != nil {
		mux.Handle("GET "+Root+"openapi.json", o.Description)
	}
	mux.Handle("POST "+Root+"reload", o.Guard.changes(func(w http.ResponseWriter, _ *http.Request) {
		status, v := reload(o.Reload)
		write(w, status, v)
	}))
	for action, do := range map[string]func(string) error{
		"disable": o.Limiter.DisableKey, "enable": o.Limiter.EnableKey, "recheck": o.Limiter.RecheckKey,
	} {
		mux.Handle("POST "+Root+"keys/{name}/"+action, o.Guard.changes(func(w http.ResponseWriter, r *http.Request) {
			status, v := operate(o.Limiter, r.PathValue("name"), do)
			write(w, status, v)
		}))
	}
	return o.Guard.Local(mux)
}

// problem is the answer to what can't be answered or done.
type problem struct {
	Error string `json:"error"`
}

func write(w http.ResponseWriter, status int, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-Riftrelay-Source", "relay")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // whoever asked may have gone
}
