package proxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"riftrelay"
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
	started  bool             // the observer knows of the call
	report   riftrelay.Report // filled in by the transport
	body     *clientBody      // nil when the client sends none
	traced   func(route.Route, int, string)

	status int    // what the client got; 0 = nothing yet
	source string // SourceRiot or SourceRelay
	reason string // of the relay's own answers
	bytes  int64  // of the body sent down
	err    error  // behind the relay's own answers

	edgeTrace string // Riot's name for a call that it answered with an error
}

// clientBody is the client's request body. It remembers why reading failed,
// since the transport's error doesn't say whose failure it was.
type clientBody struct {
	io.ReadCloser
	flow   *http.ResponseController
	failed atomic.Pointer[bodyError]
}

// stall is how long a piece of a request's body, a read's worth, may take to
// come: a call whose body streams holds a slot of Riot's limits meanwhile.
const stall = time.Minute

// bodyError is a failure of the client's own request body.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return "reading the request's body: " + e.err.Error() }
func (e *bodyError) Unwrap() error { return e.err }

// tooSlow reports whether the client is there still, and sends nothing.
func (e *bodyError) tooSlow() bool { return errors.Is(e.err, os.ErrDeadlineExceeded) }

func (b *clientBody) Read(p []byte) (int, error) {
	_ = b.flow.SetReadDeadline(time.Now().Add(stall)) // without one, as in some tests, there is no connection to bound
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		// From here on net/http reads, to see the client leave. After another
		// error the deadline stays: closing the body reads what is left of it.
		_ = b.flow.SetReadDeadline(time.Time{})
	}
	// ErrBodyReadAfterClose is no failure of the client's: the transport was
	// still reading when it had the answer.
	if err != nil && err != io.EOF && !errors.Is(err, http.ErrBodyReadAfterClose) {
		b.failed.CompareAndSwap(nil, &bodyError{err})
	}
	return n, err
}

// logCall writes the one line of a call. Paths and queries hold players' ids
// and names, so the line has the bucket instead.
func (h *Handler) logCall(r *http.Request, c *call, took time.Duration) {
	ctx := context.WithoutCancel(r.Context())
	if !h.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	bucket := ""
	if c.report.Route.Method != nil {
		bucket = c.report.Route.String()
	}
	attrs := []slog.Attr{
		slog.String("verb", verb(r.Method)),
		slog.String("bucket", bucket),
		slog.Int("status", c.status),
		slog.String("source", c.source),
		slog.String("key", c.report.Key),
		slog.Int("tries", c.report.Tries),
		slog.Duration("waited", c.report.Waited),
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
