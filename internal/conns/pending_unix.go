//go:build unix

package conns

import (
	"net"
	"syscall"
)

// pending reports whether the system holds bytes of c's client that nobody has
// read yet.
func pending(c net.Conn) bool {
	has, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		n, _, _ = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return err == nil && n > 0
}
