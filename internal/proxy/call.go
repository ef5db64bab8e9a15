package proxy

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"riftrelay"
	"riftrelay/internal/handoff"
	"riftrelay/route"
)

// call is one call's story. It is one allocation for all that the request to
// the transport points to, so none of it may be used again.
type call struct {
	start    time.Time
	id       string      // X-Request-Id
	client   *Client     // nil when nobody needs a token
	token    string      // which the client showed; for conceal alone
	waiting  atomic.Bool // for admission; of a client's calls
	url      url.URL     // of the outgoing request
	route    route.Route // zero until it is known
	priority riftrelay.Priority
	started  bool         // the observer knows of the call
	handoff  handoff.Call // with the transport
	body     []byte       // of the request; nil when the client sends none
	traced   func(route.Route, int, string)

	status int    // what the client got; 0 = nothing yet
	source string // SourceRiot or SourceRelay
	reason string // of the relay's own answers
	bytes  int64  // of the body sent down
	err    error  // behind the relay's own answers

	edgeTrace string // Riot's name for a call that it answered with an error
}

// logCall writes the one line of a call. Paths and queries hold players' ids
// and names, so the line has the bucket instead.
func (h *Handler) logCall(r *http.Request, c *call, took time.Duration) {
	ctx := context.WithoutCancel(r.Context())
	if !h.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	bucket := ""
	if c.route.Method != nil {
		bucket = c.route.String()
	}
	attrs := []slog.Attr{
		slog.String("verb", verb(r.Method)),
		slog.String("bucket", bucket),
		slog.Int("status", c.status),
		slog.String("source", c.source),
		slog.String("key", c.handoff.Key),
		slog.Int("tries", c.handoff.Tries),
		slog.Duration("waited", c.handoff.Waited),
		slog.Duration("took", took),
		slog.Int64("bytes", c.bytes),
		slog.String("request", c.id),
	}
	if c.client != nil {
		attrs = append(attrs, slog.String("client", c.client.Name))
	}
	if c.edgeTrace != "" {
		attrs = append(attrs, slog.String("edge_trace", c.conceal(c.edgeTrace[:min(len(c.edgeTrace), 100)])))
	}
	if c.reason != "" {
		attrs = append(attrs, slog.String("reason", c.reason))
	}
	if c.err != nil {
		attrs = append(attrs, slog.String("error", c.conceal(c.err.Error())))
	}
	h.log.LogAttrs(ctx, slog.LevelDebug, "call", attrs...)
}
