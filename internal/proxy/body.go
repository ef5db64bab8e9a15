package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"riftrelay"
)

// bodyTime is how long a request's body may take to arrive.
const bodyTime = time.Minute

// bodyError is a failure of the client's own request body.
type bodyError struct{ err error }

func (e *bodyError) Error() string { return "reading the request's body: " + e.err.Error() }
func (e *bodyError) Unwrap() error { return e.err }

// tooSlow reports whether the client is still there, and sends nothing.
func (e *bodyError) tooSlow() bool { return errors.Is(e.err, os.ErrDeadlineExceeded) }

// errWrongLength is the failure of a body whose length is told wrongly, over HTTP/2.
var errWrongLength = errors.New("its Content-Length is not the number of its bytes")

// wrongLength reports whether Content-Length says something that net/http didn't
// take: over HTTP/2 it takes no length, or none of several, for 0.
func wrongLength(r *http.Request) bool {
	told := r.Header["Content-Length"]
	if r.ProtoMajor != 2 || len(told) == 0 {
		return false
	}
	n, err := strconv.ParseUint(told[0], 10, 63)
	return len(told) > 1 || err != nil || int64(n) != r.ContentLength
}

// errUnwantedBody is the failure of a body that the verb doesn't have.
var errUnwantedBody = errors.New("GET, HEAD and DELETE have no body")

// bodyRoom bounds the memory of all bodies that wait for their calls.
type bodyRoom struct {
	most int64 // of one body
	used atomic.Int64
}

// roomForBodies is how many bodies of the largest size fit into memory at once.
const roomForBodies = 64

// take reserves memory and reports whether there was enough of it.
func (b *bodyRoom) take(n int64) bool {
	if b.used.Add(n) <= b.most*roomForBodies {
		return true
	}
	b.used.Add(-n)
	return false
}

// read reads a request's body whole. That happens before the call is admitted:
// a body that comes slowly, breaks off or is malformed takes no slot of Riot's.
// What it returns must go to release, also with an error.
func (b *bodyRoom) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	bare := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodDelete
	switch {
	case wrongLength(r):
		return nil, &bodyError{errWrongLength}
	case !hasBody(r):
		return nil, nil
	case bare && r.ContentLength > 0:
		return nil, &bodyError{errUnwantedBody}
	case r.ContentLength > b.most:
		return nil, &bodyError{&http.MaxBytesError{Limit: b.most}}
	}
	flow := http.NewResponseController(w)
	_ = flow.SetReadDeadline(time.Now().Add(bodyTime)) // without a connection, as in some tests, there is nothing to bound
	var data []byte
	for {
		if len(data) == cap(data) {
			grown := min(max(4<<10, 2*cap(data)), int(b.most)+1)
			if !b.take(int64(grown - cap(data))) {
				return data, &riftrelay.RejectedError{
					Reason: riftrelay.ReasonQueueFull, RetryAfter: time.Second,
					Detail: "the bodies of the calls that wait leave no room for another",
				}
			}
			data = append(make([]byte, 0, grown), data...)
		}
		n, err := r.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > b.most:
			return data, &bodyError{&http.MaxBytesError{Limit: b.most}}
		case bare && n > 0:
			return data, &bodyError{errUnwantedBody}
		case err == io.EOF:
			_ = flow.SetReadDeadline(time.Time{}) // from here on net/http reads, to see the client leave
			return data, nil
		case err != nil:
			return data, &bodyError{err}
		}
	}
}

// release returns the memory of a body back.
func (b *bodyRoom) release(data []byte) { b.used.Add(-int64(cap(data))) }

// hasBody reports whether a request may have a body: of one whose length is
// unknown, reading tells.
func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Body != nil && r.Body != http.NoBody
}

// setBody makes data the body of the request for the transport, which may send
// it several times.
func setBody(out *http.Request, data []byte) {
	if len(data) == 0 {
		return
	}
	out.ContentLength = int64(len(data))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	out.Body, _ = out.GetBody()
}
