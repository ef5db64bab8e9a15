//go:build !linux || 386 || s390x

package riftrelay

import (
	"net"

	"riftrelay/limit"
)

// tcpInfo knows nothing here: other systems don't tell the least round trip, and
// on two architectures the question is put in another way.
func tcpInfo(net.Conn) limit.TCP { return limit.TCP{} }
