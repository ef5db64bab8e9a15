package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"riftrelay/internal/conns"
)

// readHeaderTimeout is how long a request's head may take, and a handshake.
const readHeaderTimeout = 10 * time.Second

func newServer(setting, address string, h http.Handler, limits conns.Limits, log *slog.Logger) *server {
	c := &crowd{}
	return &server{setting: setting, address: address, crowd: c, limits: limits, log: log, http: &http.Server{
		Handler: conns.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.calls.Add(1)
			defer c.calls.Add(-1)
			h.ServeHTTP(w, r)
		})),
		ConnContext: conns.Context,
		ConnState: func(nc net.Conn, state http.ConnState) {
			conns.Follow(nc, state)
			switch state {
			case http.StateNew:
				c.connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				c.connections.Done()
			case http.StateActive, http.StateIdle:
			}
		},
		// No bound on reading or writing a body as a whole: calls wait in
		// queues, and answers stream. The proxy bounds the request's body, and
		// conns each piece of an answer.
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       2 * time.Minute,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 100}, // calls of one connection: each may need one to Riot
		MaxHeaderBytes:    32 << 10,

		DisableGeneralOptionsHandler: true, // every answer says who speaks
		ErrorLog:                     serverLog(log, setting),
	}}
}

// servers lists them in the order in which they end: the admin listener last,
// because it tells how the end goes.
func (r *relay) servers() []*server {
	if r.admin == nil {
		return []*server{r.front}
	}
	return []*server{r.front, r.admin}
}

// listen opens the ports. The error says which setting names a port that isn't
// available; nothing is open then.
func (r *relay) listen(ctx context.Context) error {
	var problems []error
	for _, s := range r.servers() {
		l, err := listenOn(ctx, s.address)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: can't listen on %s: %w; allowed: an address of this machine that is free", s.setting, s.address, cause(err)))
			continue
		}
		s.listener = l
	}
	if len(problems) == 0 {
		return nil
	}
	r.abandon()
	return errors.Join(problems...)
}

// exposed returns the relay's address if it is reached from other machines and
// no client needs a token, otherwise "".
func (r *relay) exposed() string {
	if !beyondLoopback(r.front.listener) || r.handler.NeedsTokens() {
		return ""
	}
	return r.front.listener.Addr().String()
}

func beyondLoopback(l net.Listener) bool {
	a, ok := l.Addr().(*net.TCPAddr)
	return ok && !a.IP.IsLoopback()
}
