package replicas

import (
	"net"
	"syscall"
	"time"
	"unsafe"
)

// lastReceived is where struct tcp_info says how many milliseconds ago the last
// data came.
const lastReceived = 52

// received returns when the kernel received what was read last from c.
func received(c net.Conn) time.Time {
	now := time.Now()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return now
	}
	for range 10 {
		var info [104]byte
		size := uint32(len(info))
		var errno syscall.Errno
		began := time.Now()
		if err := raw.Control(func(fd uintptr) {
			_, _, errno = syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, syscall.IPPROTO_TCP, syscall.TCP_INFO,
				uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
		}); err != nil || errno != 0 || size < lastReceived+4 {
			return now
		}
		if time.Since(began) > 2*time.Millisecond {
			continue // this process had no time in between
		}
		ago := *(*uint32)(unsafe.Pointer(&info[lastReceived]))
		return began.Add(-time.Duration(ago) * time.Millisecond)
	}
	return now
}
