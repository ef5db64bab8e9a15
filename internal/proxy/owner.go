package proxy

import (
	"net/http"
	"net/netip"
	"strings"
)

// owner returns whose call it is, by which calls queue and take turns: the
// client's name, or its address where no client needs a token.
func (c *call) owner(r *http.Request) string {
	if c.client != nil {
		return c.client.Name
	}
	end := strings.LastIndexByte(r.RemoteAddr, ':')
	if end < 0 {
		return r.RemoteAddr
	}
	if r.RemoteAddr[0] != '[' {
		return r.RemoteAddr[:end]
	}
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr[:end]
	}
	ip := addr.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	// Whoever has one address of IPv6 has its whole network of 64 bits.
	network, err := ip.Prefix(64)
	if err != nil {
		return ip.String()
	}
	return network.String()
}
