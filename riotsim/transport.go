package riotsim

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// Transport reaches an edge without a connection: it calls the edge in the caller's goroutine, which
// costs no socket, no parsing and no other goroutine. Latency, faults and the hooks of net/http/httptrace
// (GetConn, GotConn, WroteHeaders, WroteRequest, GotFirstResponseByte) are as over a connection.
type Transport struct {
	edge *Edge
	// Dial, if set, says how long the nth request (from 1) waits for its connection. A request that
	// is cancelled meanwhile was never sent. It must be safe for concurrent use.
	Dial  func(n uint64) time.Duration
	dials atomic.Uint64
}

// RoundTripper returns a Transport to the edge.
func (e *Edge) RoundTripper() *Transport { return &Transport{edge: e} }

// RoundTrip sends the request. A request that is cancelled after WroteRequest is counted when it
// arrives, as on a real network. The error of a broken connection is a *net.OpError with ECONNRESET.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	e, ctx := t.edge, req.Context()
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		trace = &httptrace.ClientTrace{}
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	if err := t.connect(ctx, trace, req.URL.Host); err != nil {
		return nil, err
	}
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	up, down := e.lat.Load().delays(e.cfg.Seed, e.tries.Add(1))
	in := e.read(verbOf(req), host, req.URL.RequestURI(), "HTTP/1.1", req.Header)
	if trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
	if !in.readBody(req.Body) {
		e.broke()
		err := &net.OpError{Op: "write", Net: "riotsim", Err: io.ErrUnexpectedEOF}
		wrote(trace, err)
		return nil, err
	}
	wrote(trace, nil)

	sent := time.Now()
	if !pause(ctx, up) {
		// What was sent arrives: the client can't call it back.
		time.AfterFunc(max(0, up-time.Since(sent)), func() { e.arrive(in) })
		return nil, context.Cause(ctx)
	}
	a := e.arrive(in)
	if !pause(ctx, a.Hang+down) {
		return nil, context.Cause(ctx)
	}
	if a.Status == 0 {
		return nil, &net.OpError{Op: "read", Net: "riotsim", Err: syscall.ECONNRESET}
	}
	if trace.GotFirstResponseByte != nil {
		trace.GotFirstResponseByte()
	}
	return response(req, e, in, &a), nil
}

func verbOf(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}

func (t *Transport) connect(ctx context.Context, trace *httptrace.ClientTrace, addr string) error {
	if trace.GetConn != nil {
		trace.GetConn(addr)
	}
	var wait time.Duration
	if t.Dial != nil {
		wait = t.Dial(t.dials.Add(1))
	}
	if !pause(ctx, wait) {
		return context.Cause(ctx)
	}
	if trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Reused: wait == 0})
	}
	return context.Cause(ctx) // what is cancelled there is not written
}

func wrote(trace *httptrace.ClientTrace, err error) {
	if trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
}

func response(req *http.Request, e *Edge, in *inbound, a *Answer) *http.Response {
	h, body := e.reply(in, a)
	r := &http.Response{
		Status: "200 OK", StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, ContentLength: int64(body.len()), Request: req,
	}
	if a.Status != http.StatusOK {
		r.Status = strconv.Itoa(a.Status) + " " + http.StatusText(a.Status)
	}
	if in.gzip {
		r.ContentLength, r.TransferEncoding = -1, []string{"chunked"}
	}
	out := &responseBody{ctx: req.Context(), c: body}
	switch {
	case req.Method == http.MethodHead:
		out.c = content{}
	case a.fault != nil:
		out.size, out.wait, out.cut = body.len(), a.fault.SlowBody/pieces, a.fault.Truncate
		if out.wait > 0 {
			out.size = max(1, (body.len()+pieces-1)/pieces)
		}
		if out.cut {
			out.c = out.c.until(body.len() / 2)
		}
	}
	r.Body = out
	return r
}

func (c content) until(n int) content {
	if n <= len(c.head) {
		return content{head: c.head[:n]}
	}
	return content{c.head, c.tail[:n-len(c.head)]}
}

// responseBody is a body read in process. Only its reader uses it.
type responseBody struct {
	ctx    context.Context
	c      content
	size   int           // most bytes between two waits; 0 = all
	wait   time.Duration // before each such piece
	left   int           // of the piece at hand
	cut    bool          // ends too early
	closed bool
}

func (b *responseBody) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.c.len() == 0 {
		if b.cut {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, io.EOF
	}
	if b.wait > 0 {
		if b.left == 0 {
			if !pause(b.ctx, b.wait) {
				return 0, context.Cause(b.ctx)
			}
			b.left = b.size
		}
		p = p[:min(len(p), b.left)]
	}
	n := copy(p, b.c.head)
	b.c.head = b.c.head[n:]
	m := copy(p[n:], b.c.tail)
	b.c.tail = b.c.tail[m:]
	b.left -= n + m
	return n + m, nil
}

func (b *responseBody) Close() error {
	b.closed = true
	return nil
}
