package conns

import (
	"io"
	"net"
	"net/http"
	"time"
)

// linger is how long a connection lasts once its request has been answered and
// the request's body hasn't come to its end.
const linger = 3 * time.Second

// lingerMost is how much of such a body is read, so that a client which sends
// all of it first reads its answer and not a reset.
const lingerMost = 16 << 20

// Handler has next answer at once, whether or not it reads the request's body.
// Unless the body was read to its end before the answer, the connection ends
// with the answer: what is left on it is no request. net/http would read on, as
// long as it takes. HTTP/2 ends the stream instead.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := connOf(r)
		// After chunks, and after CONNECT, no head is checked any longer.
		last := r.ProtoMajor == 1 && (len(r.TransferEncoding) > 0 || r.Method == http.MethodConnect)
		closing := last || c != nil && c.listener.Waiting()
		if closing {
			w.Header().Set("Connection", "close")
		}
		if r.ProtoMajor != 1 || r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close") // so net/http leaves the body alone
		body := &requestBody{ReadCloser: r.Body}
		if !closing {
			body.answer = w.Header()
		}
		flow := http.NewResponseController(w)
		lingering := false
		lingers := func() {
			if lingering {
				return
			}
			lingering = true
			_ = flow.SetReadDeadline(time.Now().Add(linger))
			if c != nil {
				c.set(Ending)
			}
		}
		defer func() { // also when next panics
			if !body.whole {
				lingers()
			}
		}()
		withBody := r.WithContext(r.Context())
		withBody.Body = body
		next.ServeHTTP(w, withBody)
		if body.whole || !body.touched && r.Header.Get("Expect") != "" { // reading would ask for the body
			return
		}
		_ = flow.Flush()
		lingers()
		_, _ = io.CopyN(io.Discard, body, lingerMost)
	})
}

func connOf(r *http.Request) *Conn {
	c, _ := r.Context().Value(contextKey{}).(net.Conn)
	return of(c)
}

// requestBody knows how far a request's body was read. The handler's goroutine
// alone reads it.
type requestBody struct {
	io.ReadCloser
	answer         http.Header // in which the end of the body lets the connection go on; nil = it doesn't
	touched, whole bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.touched = true
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.whole {
		b.whole = true
		if b.answer != nil {
			b.answer.Del("Connection")
		}
	}
	return n, err
}
