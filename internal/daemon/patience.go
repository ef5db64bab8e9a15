package daemon

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// patience is how long a client may take for what is written to it at once. One
// that reads more slowly, or not at all, loses its connection: else it would
// keep that, one to Riot and the memory of both for as long as it likes.
const patience = time.Minute

// places is how many clients may be connected at once, of the descriptors that
// this process may have: each call may need one to Riot as well, and some are
// for files and the admin listener. Others wait until the system lets them in,
// which is better than a call that is admitted and can't be sent.
func places(descriptors int) int { return max(8, (descriptors-32)/2) }

// serve serves what comes on l, until the server is closed.
func (s *server) serve(l net.Listener) error {
	l = &room{Listener: l, http: s.http, taken: make(chan struct{}, places(openFiles())), closed: make(chan struct{})}
	if s.door != nil {
		l = s.door.guard(l)
	}
	return s.http.Serve(l)
}

// room is a listener with so many places. While all are taken, connections end
// with their call, so that others get in.
type room struct {
	net.Listener
	http   *http.Server
	taken  chan struct{} // as many as there are clients
	closed chan struct{}
	once   sync.Once
}

// Accept waits for a place, and then for the next connection.
func (r *room) Accept() (net.Conn, error) {
	select {
	case r.taken <- struct{}{}:
	default:
		r.http.SetKeepAlivesEnabled(false)
		select {
		case r.taken <- struct{}{}:
		case <-r.closed:
			return nil, net.ErrClosed
		}
	}
	c, err := r.Listener.Accept()
	if err != nil {
		<-r.taken
		return nil, err
	}
	return &guest{Conn: c, room: r}, nil
}

// Close also ends the wait for a place.
func (r *room) Close() error {
	r.once.Do(func() { close(r.closed) })
	return r.Listener.Close()
}

// guest is a client's connection.
type guest struct {
	net.Conn
	room *room
	once sync.Once
}

// Write gives each piece its own bound: an answer as a whole may take as long as
// it keeps moving.
func (g *guest) Write(p []byte) (int, error) {
	if err := g.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return g.Conn.Write(p)
}

// CloseWrite ends one direction, for tunnels.
func (g *guest) CloseWrite() error { return closeWrite(g.Conn) }

// Close gives the place back.
func (g *guest) Close() error {
	g.once.Do(func() {
		<-g.room.taken
		if len(g.room.taken) <= cap(g.room.taken)*3/4 {
			g.room.http.SetKeepAlivesEnabled(true)
		}
	})
	return g.Conn.Close()
}
