package riftrelay

import "net/http"

// TCPInfoOf is tcpInfo, for tests.
var TCPInfoOf = tcpInfo

// AsksTCP reports whether a Transport on base asks the system for what it knows
// of a connection.
func AsksTCP(base http.RoundTripper) bool {
	t := &Transport{base: base}
	return t.tcpOf() != nil
}
