package proxy

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Over HTTP/2 the query is looked at by nobody else: what belongs in no request
// line is refused on every way in.
func TestQueriesAreStrict(t *testing.T) {
	for _, query := range []string{"x HTTP/1.0", "a b", " ", " api_key=K", "a\tb", "a\x00b", "a\x7fb", "a\r\nb", "#", "a#b"} {
		for _, target := range []string{status, "http://euw1.api.riotgames.com/lol/status/v4/platform-data", "/lol/status/v4/platform-data?platform=EUW1&"} {
			sent := false
			h, err := New(Options{Table: table(t), Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				sent = true
				return answerOf("{}"), nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("GET", "/", http.NoBody)
			if r.RequestURI = target + "?" + query; strings.HasSuffix(target, "&") {
				r.RequestURI = target + query
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != 400 || sent || w.Header().Get("X-Riftrelay-Source") != SourceRelay {
				t.Errorf("%q: %d, sent %v", r.RequestURI, w.Code, sent)
			}
		}
	}
}

// A platform is one of ASCII letters and digits: others become such in lower case.
func TestPlatformIsASCII(t *testing.T) {
	for _, platform := range []string{"%E2%84%AAr", "\u212ar"} {
		raw := sendRaw(t, serve(t, Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			t.Errorf("%s was sent", platform)
			return answerOf("{}"), nil
		})}), get("/lol/status/v4/platform-data?platform="+platform))
		if !strings.HasPrefix(raw, "HTTP/1.1 404 ") {
			t.Errorf("%s: %.100q", platform, raw)
		}
	}
}

// Bytes behind a refused CONNECT were meant for another server.
func TestRefusedConnectEndsTheConnection(t *testing.T) {
	up := newUpstream(t, say(plainAnswer))
	for _, o := range []Options{{}, {Connect: &Connect{}}} {
		o.Transport = viaUpstream(t, up)
		raw := sendRaw(t, serve(t, o), "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n"+get(status))
		if strings.Count(raw, "HTTP/1.1 ") != 1 || !strings.Contains(raw, "\r\nConnection: close\r\n") {
			t.Errorf("%.500q", raw)
		}
	}
	if len(up.heads) > 0 {
		t.Errorf("upstream got %q", up.heads)
	}
}
