//go:build linux && !386 && !s390x

package riftrelay

import (
	"encoding/binary"
	"net"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"riftrelay/limit"
)

// Places in struct tcp_info of linux/tcp.h, which only ever grows at its end.
const (
	tcpState     = 1   // of congestion control; one byte
	tcpBackoff   = 4   // how often tcpTimeout was doubled; one byte
	tcpTimeout   = 8   // µs
	tcpUnacked   = 24  // segments
	tcpSmoothed  = 68  // µs
	tcpDeviation = 72  // µs
	tcpResent    = 100 // segments since the connection began
	tcpLeast     = 148 // µs; all ones while there is none; since Linux 4.6
	tcpInfoSize  = 152

	tcpRecovering = 3 // tcpState from here on: something is lost and not made up for
)

// tcpInfo asks the system for what it knows of a connection, also of one inside
// TLS. It gives nothing for what is no TCP connection, or is closed.
func tcpInfo(conn net.Conn) limit.TCP {
	for {
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = outer.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return limit.TCP{}
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return limit.TCP{}
	}
	q := questions.Get().(*question)
	defer questions.Put(q)
	if raw.Control(q.ask) != nil || q.errno != 0 || q.size < tcpInfoSize {
		return limit.TCP{}
	}
	least := binary.NativeEndian.Uint32(q.info[tcpLeast:])
	if least == ^uint32(0) {
		return limit.TCP{}
	}
	at := func(i int) time.Duration { return time.Duration(binary.NativeEndian.Uint32(q.info[i:])) }
	return limit.TCP{
		Smoothed: at(tcpSmoothed) * time.Microsecond, Deviation: at(tcpDeviation) * time.Microsecond,
		Least: time.Duration(least) * time.Microsecond, Timeout: at(tcpTimeout) * time.Microsecond >> min(q.info[tcpBackoff], 32),
		Resent: int(at(tcpResent)), Stuck: q.info[tcpState] >= tcpRecovering && at(tcpUnacked) > 0,
	}
}

// question is put to the system, again and again.
type question struct {
	ask   func(fd uintptr)
	info  [tcpInfoSize]byte
	size  uint32
	errno syscall.Errno
}

var questions = sync.Pool{New: func() any {
	q := new(question)
	q.ask = func(fd uintptr) {
		q.size = tcpInfoSize
		// It never blocks: no need to tell the scheduler.
		_, _, q.errno = syscall.RawSyscall6(syscall.SYS_GETSOCKOPT, fd, syscall.IPPROTO_TCP, syscall.TCP_INFO,
			uintptr(unsafe.Pointer(&q.info)), uintptr(unsafe.Pointer(&q.size)), 0)
	}
	return q
}}
