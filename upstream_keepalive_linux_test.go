package riftrelay_test

import (
	"net"
	"syscall"
	"testing"

	"riftrelay"
)

// Over HTTP/1.1 the system finds a peer that vanished, within 25 s.
func TestUpstreamKeepAlive(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := riftrelay.NewBase(riftrelay.BaseOptions{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(level, name int) (value int) {
		err := raw.Control(func(fd uintptr) {
			var err error
			if value, err = syscall.GetsockoptInt(int(fd), level, name); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Error(err)
		}
		return value
	}
	on := option(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
	idle := option(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
	every, times := option(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL), option(syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
	if on == 0 || idle+every*times != 25 {
		t.Errorf("keep-alive %d: after %d s, %d times every %d s; want on, and 25 s in all", on, idle, times, every)
	}
}
