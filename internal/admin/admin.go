// Package admin answers operators who ask what the relay is doing and why.
//
//	GET /api/v1/state     limits, what is used of them, what waits and for what    state.go
//	GET /api/v1/estimate  what a call would wait now                               estimate.go
//
// Both read; nothing here changes anything. The command riftrelay status asks
// the first and prints it (status.go). Lengths of time are numbers of seconds
// under names that end in _seconds; null is a time that nobody can tell.
package admin

import (
	"encoding/json"
	"net/http"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// Limiter is what is asked. *riftrelay.Limiter is one.
type Limiter interface {
	// Snapshot describes the state at this moment.
	Snapshot() riftrelay.Snapshot
	// Estimate predicts the wait of a call that came now; its error is a
	// *riftrelay.RejectedError.
	Estimate(route.Route, riftrelay.Options) (time.Duration, error)
}

// Matcher tells which method a path is. *route.Table is one.
type Matcher interface {
	// Match finds the method; its error says what is wrong with the path.
	Match(verb, host, escapedPath string) (route.Route, error)
}

// Paths are what Handler serves.
var Paths = [...]string{"/api/v1/estimate", "/api/v1/state"}

// Handler serves Paths, to GET and HEAD.
func Handler(l Limiter, m Matcher) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/state", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, stateOf(l.Snapshot()))
	})
	mux.HandleFunc("GET /api/v1/estimate", func(w http.ResponseWriter, r *http.Request) {
		status, v := estimate(l, m, r.URL.Query())
		write(w, status, v)
	})
	return mux
}

func write(w http.ResponseWriter, status int, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Riftrelay-Source", "relay")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // whoever asked may have gone
}
