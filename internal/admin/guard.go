package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Guard keeps out whom the admin listener is not for. A web page that an
// operator visits can have his browser call any address that he can reach, this
// listener too: from the page's own origin, which the browser tells of, or by a
// name of the page's that it has pointed to 127.0.0.1 (DNS rebinding), which
// then stands in the Host header.
type Guard struct {
	// Token is what changes need, as "Authorization: Bearer …". Empty: none,
	// but then changes are for a loopback listener only.
	Token string
	// Loopback reports whether the listener can be reached from this machine
	// alone.
	Loopback func() bool
	// Wrong hears of each call with a missing or wrong token before it is
	// answered, and may keep the answer back. Nil = nobody does.
	Wrong func(*http.Request)
}

// Local refuses, on a loopback listener, calls for a Host that isn't this
// machine.
func (g Guard) Local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.Loopback() && !isLocal(r.Host) {
			write(w, http.StatusForbidden, problem{"the Host header is not of this machine; allowed on a loopback ADMIN_ADDR: localhost, 127.0.0.1, [::1]"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocal reports whether a Host header means this machine, without asking
// anybody.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// changes lets those through who may change something.
func (g Guard) changes(next http.HandlerFunc) http.Handler {
	var origins http.CrossOriginProtection // judges Sec-Fetch-Site, or else Origin
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origins.Check(r) != nil || !sameHost(r) {
			write(w, http.StatusForbidden, problem{"the call comes from a page of another origin; allowed: the relay's own pages, and programs"})
			return
		}
		if g.Token == "" && !g.Loopback() {
			write(w, http.StatusForbidden, problem{"ADMIN_TOKEN is not set; allowed without it: changes on a loopback ADMIN_ADDR"})
			return
		}
		if g.Token == "" || g.shows(w, r) {
			next(w, r)
		}
	})
}

// Secret lets nobody read from elsewhere without the token what may hold keys.
func (g Guard) Secret(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.Loopback():
		case g.Token == "":
			write(w, http.StatusForbidden, problem{"ADMIN_TOKEN is not set; allowed without it: profiles on a loopback ADMIN_ADDR"})
			return
		case !g.shows(w, r):
			return
		}
		next.ServeHTTP(w, r)
	})
}

// shows reports whether a call has the token, and answers it otherwise.
func (g Guard) shows(w http.ResponseWriter, r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// Digests are of one length, so the time tells nothing.
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(g.Token))
	if subtle.ConstantTimeCompare(got[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer") {
		return true
	}
	if g.Wrong != nil {
		g.Wrong(r)
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="riftrelay admin"`)
	write(w, http.StatusUnauthorized, problem{"the token is missing or wrong; allowed: Authorization: Bearer, and the value of ADMIN_TOKEN"})
	return false
}

// sameHost reports whether the Origin, if there is one, is of the host that was
// called, whatever the browser says of the site.
func sameHost(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	_, host, _ := strings.Cut(origin, "://")
	return origin == "" || host == r.Host
}
