//go:build unix

package conns

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// socket is the system's side of a connection. It knows without doubt whether the
// client's bytes have been taken, which counts alone can't tell: a goroutine may
// stand still between its read and the count.
type socket struct {
	raw syscall.RawConn // nil = there is none
	try func(fd uintptr) bool

	mu      sync.Mutex // a read of the system and what is known of it are one step
	blocked bool       // the last read found nothing, and waits
	into    []byte
	n       int
	err     error
}

func newSocket(c net.Conn) *socket {
	s := &socket{}
	if has, ok := c.(syscall.Conn); ok {
		if raw, err := has.SyscallConn(); err == nil {
			s.raw, s.try = raw, s.once
		}
	}
	return s
}

// once reads if there is something, and reports whether it has an outcome.
func (s *socket) once(fd uintptr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		s.n, s.err = syscall.Read(int(fd), s.into)
		if !errors.Is(s.err, syscall.EINTR) {
			break
		}
	}
	s.blocked = errors.Is(s.err, syscall.EAGAIN)
	return !s.blocked
}

// read reads like c.Read. One goroutine reads at a time.
func (s *socket) read(c net.Conn, p []byte) (int, error) {
	if s.raw == nil || len(p) == 0 {
		return c.Read(p)
	}
	s.into = p
	err := s.raw.Read(s.try)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked, s.into = false, nil
	switch {
	case err != nil:
		return 0, err
	case s.err != nil:
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("read", s.err)}
	case s.n == 0:
		return 0, io.EOF
	}
	return s.n, nil
}

// idle reports whether somebody waits for the client's bytes and none have come.
// It reports too whether the system can tell.
func (s *socket) idle() (idle, known bool) {
	if s.raw == nil {
		return false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var first [1]byte
	return s.blocked && s.unread(first[:]) == 0, true
}

// unread copies into b what has come and wasn't read.
func (s *socket) unread(b []byte) (n int) {
	_ = s.raw.Control(func(fd uintptr) { // of one that is closed, nothing
		n, _, _ = syscall.Recvfrom(int(fd), b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return max(n, 0)
}
