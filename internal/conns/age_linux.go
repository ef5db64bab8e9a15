package conns

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// age is how long ago c's client was heard of. A connection that nobody has
// accepted yet has an age, too: it may have waited for long.
func age(c net.Conn) time.Duration {
	has, ok := c.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return 0
	}
	var heard time.Duration
	err = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			heard = time.Duration(info.Last_ack_recv) * time.Millisecond
		}
	})
	if err != nil {
		return 0
	}
	return heard
}
