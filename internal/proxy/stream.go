package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// buffers lend 32 KB to each body on its way down.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

var (
	errNoFinalStatus = errors.New("the upstream's status is none that ends a request")
	errNoProgress    = errors.New("the upstream's body gives neither bytes nor an error")
)

// answer passes Riot's answer down, redirects and errors like everything else.
//
// The first piece of the body is read before anything is written: a body that
// fails at once can still be answered with a status. One that fails later
// breaks the client's connection, so that it never looks complete.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, c *call, res *http.Response) {
	if res.StatusCode < 200 {
		// No 1xx ends a request. Those before the answer are dropped by the
		// transport: nobody waits for hints from an API.
		h.fail(w, r, c, errNoFinalStatus)
		return
	}
	buf := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buf)

	n, end, err := readSome(res.Body, buf[:])
	if err != nil {
		h.fail(w, r, c, err)
		return
	}
	c.source = SourceRiot
	headersDown(w.Header(), res.Header, h.stripRates)
	h.withoutSecrets(c, w.Header())
	h.cors.permit(w.Header(), first(r.Header["Origin"]))
	h.look(c, res.StatusCode, res.Header)
	w.WriteHeader(res.StatusCode)
	if bodyAllowed(res.StatusCode) {
		h.copyBody(w, r, c, res, buf[:], n, end)
	}
	if len(res.Trailer) > 0 {
		h.withoutSecrets(c, res.Trailer)
		_ = http.NewResponseController(w).Flush() // else a short body gets a length, and then no trailer
		for name, vv := range res.Trailer {
			if strings.HasPrefix(name, "X-Riftrelay-") {
				continue
			}
			w.Header()[http.TrailerPrefix+name] = vv
		}
	}
	c.status = res.StatusCode
}

// copyBody sends the n bytes that are in buf already, and then the rest; end
// says that there is none.
//
// It flushes when the upstream pauses, and not when a piece is known to be the
// last: a short body, also one of unknown length, then goes out in one write
// together with its head.
func (h *Handler) copyBody(w http.ResponseWriter, r *http.Request, c *call, res *http.Response, buf []byte, n int, end bool) {
	flusher := http.NewResponseController(w)
	for {
		if n > 0 {
			sent, err := w.Write(buf[:n])
			c.bytes += int64(sent)
			if err != nil {
				abort(r, c, err, true)
			}
		}
		if end {
			return
		}
		_ = flusher.Flush() // an error shows at the next write
		var err error
		if n, end, err = readSome(res.Body, buf); err != nil {
			abort(r, c, err, false)
		}
	}
}

// abort breaks the client's connection in mid-answer.
func abort(r *http.Request, c *call, err error, gone bool) {
	gone = gone || errors.Is(r.Context().Err(), context.Canceled)
	a := replyFor(err, gone, c.url.Host)
	c.status, c.reason, c.err = a.status, a.reason, err
	panic(http.ErrAbortHandler)
}

// readSome reads until there is something: bytes, the end, or an error. The
// first may come together with one of the others.
func readSome(from io.Reader, buf []byte) (n int, end bool, err error) {
	for range 100 {
		n, err = from.Read(buf)
		if err == io.EOF { // as it is: wrapped, it says that something broke off
			return n, true, nil
		}
		if n > 0 || err != nil {
			return n, false, err
		}
	}
	return 0, false, errNoProgress
}

// bodyAllowed is RFC 9110, 6.4.1; net/http sees to HEAD.
func bodyAllowed(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// headersDown passes an answer's headers on, doubled ones too (R15). Only what
// belongs to the connection stays, and, if so set, what clients would pace
// themselves by (R11), who are paced already.
func headersDown(to, from http.Header, stripRates bool) {
	listed := len(from["Connection"]) > 0
	for name, vv := range from {
		switch name {
		case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
			"Te", "Trailer", "Transfer-Encoding", "Upgrade":
			continue
		case requestID: // the client's, or ours, is there already
			continue
		case "Set-Cookie", "Set-Cookie2", "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data":
			// They are about the name that was called, which is the relay's. No
			// cookie goes up, and no client is to go past the relay.
			continue
		case "X-App-Rate-Limit", "X-App-Rate-Limit-Count", "X-Method-Rate-Limit", "X-Method-Rate-Limit-Count":
			if stripRates {
				continue
			}
		}
		if listed && hopByHop(from, name) {
			continue
		}
		to[name] = vv
	}
	if _, typed := to["Content-Type"]; !typed {
		to["Content-Type"] = nil // net/http would guess one
	}
}
