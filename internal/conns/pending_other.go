//go:build !unix

package conns

import "net"

// pending reports nothing: this system isn't asked.
func pending(net.Conn) bool { return false }
