package daemon

import (
	"net"
	"net/http"

	"riftrelay/internal/config"
	"riftrelay/internal/conns"
)

// places is how many clients may be connected at once, of the descriptors that
// this process may have. Each call may need one to Riot as well. A quarter as
// many are for connections to Riot that are kept for later, see reserve. The
// rest is for the admin listener, files, the store and looking up names.
func places(descriptors int) int {
	return max(8, (descriptors-32-adminPlaces(descriptors))*4/9)
}

func adminPlaces(descriptors int) int { return min(64, max(8, descriptors/16)) }

// reserve keeps base to the descriptors that places leaves for it. A call that
// finds another's connection free has begun to dial already, so without a bound
// there can be more connections than calls.
func reserve(base *http.Transport, descriptors int) {
	base.MaxConnsPerHost = places(descriptors)
	base.MaxIdleConns = max(2, places(descriptors)/4)
}

// frontLimits are those of the relay's port. Unless the settings say otherwise,
// a quarter of all places is kept from any one address; programs on this
// machine, such as a reverse proxy, may have all of them.
func frontLimits(s *config.Settings) conns.Limits {
	most := places(openFiles())
	if s.MaxConnections > 0 {
		most = min(most, s.MaxConnections)
	}
	if s.MaxPerAddress > 0 {
		return conns.Limits{Total: most, PerAddress: min(most, s.MaxPerAddress)}
	}
	return conns.Limits{Total: most, PerAddress: max(1, most*3/4), Loopback: true}
}

// adminLimits are those of the admin listener.
func adminLimits() conns.Limits { return conns.Limits{Total: adminPlaces(openFiles())} }

// serve serves what comes on l, until the server is closed.
func (s *server) serve(l net.Listener) error {
	limited := conns.Limit(l, s.limits, s.noteFull)
	s.conns.Store(limited)
	l = limited
	if s.door != nil {
		s.door.failed = func(from net.Addr, err error) {
			s.http.ErrorLog.Printf("http: TLS handshake error from %s: %v", from, err)
		}
		l = s.door.guard(l)
	}
	return s.http.Serve(conns.Check(l))
}

// noteFull warns of a full house, once a minute at most.
func (s *server) noteFull(now conns.Stats) {
	last := s.warned.Load()
	if at := now.Full.Unix(); at-last >= 60 && s.warned.CompareAndSwap(last, at) {
		s.log.Warn("no room for another connection: those without a request are closed for others", "server", s.setting,
			"open", now.Open, "most", now.Most, "closed", now.Closed, "refused", now.Refused)
	}
}
