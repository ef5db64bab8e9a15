package riftrelay

import (
	"io"
	"net/http"
	"sync"
)

// replay is the body of a request, as far as it can be sent again. Nil is no
// body.
type replay struct {
	stream io.ReadCloser
	fresh  func() (io.ReadCloser, error) // the request's GetBody; may be nil
	lent   *lent                         // the stream, while the base has it
}

func newReplay(req *http.Request) *replay {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	return &replay{stream: req.Body, fresh: req.GetBody}
}

// again reports whether the body can be sent once more.
func (b *replay) again() bool { return b == nil || b.fresh != nil || b.lent.back() }

// reader returns the body, from its beginning.
func (b *replay) reader() (io.ReadCloser, error) {
	if b.lent == nil || b.lent.back() {
		b.lent = &lent{body: b.stream}
		return b.lent, nil
	}
	return b.fresh()
}

// spare takes the body back from a base that is not to send it.
func (b *replay) spare() {
	if b != nil && b.lent != nil {
		b.lent.take()
	}
}

// lent is a stream in the hands of a base. Once taken back, the base can neither
// read nor close it.
type lent struct {
	body io.ReadCloser

	mu            sync.Mutex
	touched, gone bool // read or closed by the base; taken back before that
}

func (l *lent) take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = !l.touched
}

// back reports whether the stream is as it was.
func (l *lent) back() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

func (l *lent) touch() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touched = !l.gone
	return l.touched
}

func (l *lent) Read(p []byte) (int, error) {
	if !l.touch() {
		return 0, errStopped
	}
	return l.body.Read(p)
}

func (l *lent) Close() error {
	if !l.touch() {
		return nil
	}
	return l.body.Close()
}
