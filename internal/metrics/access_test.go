package metrics

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"riftrelay/route"
)

func TestClientsAndDeprecations(t *testing.T) {
	m := newMetrics()
	m.ClientDone("web", 200)
	m.ClientDone("web", 200)
	m.ClientDone("bot", 429)
	methods := route.Default().Methods()
	for _, at := range methods {
		m.Deprecated(at, time.Time{})
		m.Deprecated(at, time.UnixMilli(1798761600500))
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`riftrelay_client_requests_total{client="web",code="200"} 2`, `riftrelay_client_requests_total{client="bot",code="429"} 1`,
		`riftrelay_deprecated_methods{endpoint="lol/status/v4/platform-data"} 1.7987616005e+09`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if n := strings.Count(w.Body.String(), "\nriftrelay_deprecated_methods{"); n == 0 || n > len(methods) {
		t.Errorf("%d series for %d methods", n, len(methods))
	}
}
