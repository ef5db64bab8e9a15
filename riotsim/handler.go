package riotsim

import (
	"context"
	"io"
	"net/http"
	"time"
)

// ServeHTTP answers a request as Riot's edge would. The host is named by the Host header
// ("euw1.api.riotgames.com", any port), or, if that is another, by the first segment of the path
// ("/euw1/lol/…"). A request arrives when its body has been read and the latency up has passed; it
// is counted then even if the client has gone.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	up, down := e.lat.Load().delays(e.cfg.Seed, e.tries.Add(1))
	in := e.read(r.Method, r.Host, r.RequestURI, r.Proto, r.Header)
	if !in.readBody(r.Body) {
		e.broke()
		panic(http.ErrAbortHandler)
	}
	time.Sleep(up) // what was sent arrives: a client that hangs up can't call it back
	a := e.arrive(in)
	if !pause(r.Context(), a.Hang+down) {
		return // counted all the same
	}
	if a.Status == 0 {
		reset(w)
		return
	}
	h, body := e.reply(in, &a)
	to := w.Header()
	for name, values := range h {
		to[name] = values
	}
	w.WriteHeader(a.Status)
	if r.Method == http.MethodHead {
		return
	}
	if a.fault != nil && (a.fault.Truncate || a.fault.SlowBody > 0) {
		troubled(r.Context(), w, body, a.fault)
		return
	}
	if _, err := w.Write(body.head); err == nil && len(body.tail) > 0 {
		_, _ = w.Write(body.tail) // an error means that the client is gone
	}
}

// maxKept bounds the body that a Request keeps.
const maxKept = 64 << 10

// readBody reads all of a request's body and reports whether it came whole.
func (in *inbound) readBody(body io.Reader) bool {
	if body == nil || body == http.NoBody {
		return true
	}
	kept, err := io.ReadAll(io.LimitReader(body, maxKept))
	if err != nil {
		return false
	}
	rest, err := io.Copy(io.Discard, body)
	in.raw.Body, in.raw.Length = kept, int64(len(kept))+rest
	return err == nil
}

// pause waits and reports whether the client was still there at the end.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	if ctx.Done() == nil {
		time.Sleep(d)
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reset breaks the connection without an answer: over TCP and Pipe the client sees a reset, over
// HTTP/2 a stream reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if c, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = c.SetLinger(0) // best effort: without it the client sees an end of file
	}
	_ = conn.Close() // nothing can be done about an error
}

// pieces is in how many parts a slow body comes.
const pieces = 10

// troubled writes a body slowly, or breaks off in its middle, or both.
func troubled(ctx context.Context, w http.ResponseWriter, c content, f *Fault) {
	flow := http.NewResponseController(w)
	body := append(append(make([]byte, 0, c.len()), c.head...), c.tail...)
	end := len(body)
	if f.Truncate {
		end /= 2
	}
	size := max(1, (len(body)+pieces-1)/pieces)
	if f.SlowBody == 0 {
		size = max(1, end)
	}
	for at := 0; at < end; at += size {
		if !pause(ctx, f.SlowBody/pieces) {
			return
		}
		if _, err := w.Write(body[at:min(at+size, end)]); err != nil || flow.Flush() != nil {
			return
		}
	}
	if f.Truncate {
		panic(http.ErrAbortHandler)
	}
}
