//go:build !linux

package replicas

import (
	"net"
	"time"
)

// received returns when the kernel received what was read last from c: here it
// doesn't tell.
func received(net.Conn) time.Time { return time.Now() }
