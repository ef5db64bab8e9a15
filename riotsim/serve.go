package riotsim

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// life is the connections that Serve keeps.
type life struct {
	mu      sync.Mutex
	closed  bool
	servers []*http.Server
	busy    sync.WaitGroup // one for each Serve and each open connection
}

// Serve answers HTTP/1.1 on a listener until Close, and returns nil then; after Close it closes the
// listener and returns at once. It blocks; several listeners can be served at once. Any error is the
// listener's.
func (e *Edge) Serve(l net.Listener) error {
	s := &http.Server{Handler: e, ConnState: e.life.connection, ReadHeaderTimeout: time.Minute}
	e.life.mu.Lock()
	if e.life.closed {
		e.life.mu.Unlock()
		return l.Close()
	}
	e.life.busy.Add(1)
	e.life.servers = append(e.life.servers, s)
	e.life.mu.Unlock()
	defer e.life.busy.Done()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (l *life) connection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.busy.Add(1)
	case http.StateClosed, http.StateHijacked:
		l.busy.Done()
	}
}

// Close ends what Serve began: listeners and connections are closed, and it returns when all their
// goroutines are done. Requests that are on their way up still arrive first. It can be called again,
// and does nothing to other users of the edge.
func (e *Edge) Close() {
	e.life.mu.Lock()
	e.life.closed = true
	servers := e.life.servers
	e.life.mu.Unlock()
	for _, s := range servers {
		_ = s.Close() // the listener's error is of no use to anybody
	}
	e.life.busy.Wait()
}
