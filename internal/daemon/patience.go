package daemon

import (
	"net"
	"time"
)

// patience is how long a client may take for what is written to it at once. One
// that reads more slowly, or not at all, loses its connection: else it would
// keep that, one to Riot and the memory of both for as long as it likes.
const patience = time.Minute

// serve serves what comes on l, until the server is closed.
func (s *server) serve(l net.Listener) error { return s.http.Serve(patient{l}) }

// patient makes connections on which no write waits for longer.
type patient struct{ net.Listener }

// Accept waits for the next connection.
func (l patient) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return bounded{c}, nil
}

type bounded struct{ net.Conn }

// Write gives each piece its own bound: an answer as a whole may take as long as
// it keeps moving.
func (c bounded) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
