package riftrelay

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// replay is the body of a request, as far as it can be sent again. Nil is no
// body.
type replay struct {
	data   []byte
	stream io.ReadCloser // instead: too large to keep, sent once
	fresh  func() (io.ReadCloser, error)
	lent   *lent // the stream, while the base has it
}

// replayable reads a small body into memory.
func (t *Transport) replayable(req *http.Request) (*replay, error) {
	most := t.ReplayLimit
	if most == 0 {
		most = maxReplay
	}
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return nil, nil
	case req.ContentLength <= 0 || req.ContentLength > most: // 0 with a body means unknown
		return &replay{stream: req.Body, fresh: req.GetBody}, nil
	}
	data := make([]byte, req.ContentLength)
	_, err := io.ReadFull(req.Body, data)
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	return &replay{data: data}, nil
}

// again reports whether the body can be sent once more.
func (b *replay) again() bool {
	return b == nil || b.stream == nil || b.fresh != nil || b.lent.back()
}

// reader gives the body, from its beginning.
func (b *replay) reader() (io.ReadCloser, error) {
	switch {
	case b.stream == nil:
		return io.NopCloser(bytes.NewReader(b.data)), nil
	case b.lent == nil || b.lent.back():
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
