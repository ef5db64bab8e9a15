package proxy

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Whatever target and Host header say, what goes out is a call to a host of the
// API, by a path, without a key.
func FuzzTarget(f *testing.F) {
	for _, seed := range [][2]string{
		{"/euw1/lol/status/v4/platform-data", "relay"}, {"/lol/status/v4/platform-data?platform=EUW1&a=1", "relay:8985"},
		{"http://euw1.api.riotgames.com/lol/status/v4/platform-data?api_key=x", "x"}, {"/lol/status/v4/platform-data", "EUW1.api.riotgames.com:443"},
		{"https://euw1.api.riotgames.com#x", ""}, {"http://u:p@euw1.api.riotgames.com//x", ""}, {"*", ""}, {"/lol/?platform=%2e%2e;platform", "a"},
	} {
		f.Add(seed[0], seed[1])
	}
	h, err := New(Options{Table: table(f), Transport: http.DefaultTransport})
	if err != nil {
		f.Fatal(err)
	}
	name := regexp.MustCompile(`^[a-z]{2,10}[0-9]?\.api\.riotgames\.com$`)
	f.Fuzz(func(t *testing.T, uri, host string) {
		r := &http.Request{Method: http.MethodGet, RequestURI: uri, Host: host, Header: http.Header{}}
		to, err := h.target(r)
		if err != nil {
			return
		}
		to.route, to.unknown = h.table.Match(r.Method, to.host, to.path)
		out, err := h.outbound(r, to, &call{})
		if err != nil {
			return
		}
		if !name.MatchString(out.URL.Host) || out.Host != out.URL.Host || out.URL.Opaque[0] != '/' || strings.HasPrefix(out.URL.Opaque, "//") {
			t.Errorf("%q, Host %q: sent to %q, %q", uri, host, out.URL.Host, out.URL.Opaque)
		}
		if out.URL.RawQuery != dropAPIKey(out.URL.RawQuery) {
			t.Errorf("%q: sent with a key: %q", uri, out.URL.RawQuery)
		}
	})
}
