package proxy

import (
	"net/http"

	"riftrelay"
)

// Reasons for which who calls is refused, whatever he calls.
const (
	reasonUnauthorized       riftrelay.Reason = "unauthorized"        // no token of a client
	reasonProxyAuthorization riftrelay.Reason = "proxy_authorization" // the same, for a tunnel
	reasonForbidden          riftrelay.Reason = "client_forbidden"    // not what this client may call
	reasonCrossOrigin        riftrelay.Reason = "cross_origin"        // a page of another site
	reasonHostNotAllowed     riftrelay.Reason = "host_not_allowed"    // a name that isn't the relay's
	reasonTLSRequired        riftrelay.Reason = "tls_required"        // plain http where TLS is spoken
)

// refusalStatus has their statuses.
var refusalStatus = map[riftrelay.Reason]int{
	reasonUnauthorized:       http.StatusUnauthorized,
	reasonProxyAuthorization: http.StatusProxyAuthRequired,
	reasonForbidden:          http.StatusForbidden,
	reasonCrossOrigin:        http.StatusForbidden,
	reasonHostNotAllowed:     http.StatusForbidden,
	reasonTLSRequired:        http.StatusBadRequest,
}

func refusal(reason riftrelay.Reason, detail string) error {
	return &riftrelay.RejectedError{Reason: reason, Detail: detail}
}

// challenge says which credentials a refusal wants, as HTTP demands.
func challenge(h http.Header, status int) {
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="riftrelay"`)
	case http.StatusProxyAuthRequired:
		h.Set("Proxy-Authenticate", `Basic realm="riftrelay"`)
	}
}
