//go:build !unix

package conns

import "net"

// socket is the system's side of a connection: this system isn't asked.
type socket struct{ raw any }

func newSocket(net.Conn) *socket { return &socket{} }

func (s *socket) read(c net.Conn, p []byte) (int, error) { return c.Read(p) }

func (s *socket) idle() (idle, known bool) { return false, false }

func (s *socket) unread([]byte) int { return 0 }
