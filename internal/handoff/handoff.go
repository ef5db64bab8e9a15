// Package handoff carries what the relay's proxy and riftrelay.Transport tell
// each other about one call, beside the request: the route that the proxy has
// matched already, and how the call went. One goroutine at a time uses a Call.
package handoff

import (
	"context"
	"time"

	"riftrelay/route"
)

// Call is one call, from the proxy's side.
type Call struct {
	// Route is where the call goes, of the Transport's own table. If its Method
	// is nil, Transport matches the request, and sets Route.
	Route route.Route

	// Transport sets these, whether RoundTrip returns an answer or an error.
	Key    string        // name of the key of the last try; empty without one
	Waited time.Duration // in admission, over all tries
	Tries  int           // times that the call was admitted
}

type contextKey struct{}

// With returns a context under which Transport fills in c.
func With(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// From returns the Call of With, or nil.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(contextKey{}).(*Call)
	return c
}
