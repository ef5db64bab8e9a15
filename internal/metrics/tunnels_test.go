package metrics

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTunnels(t *testing.T) {
	m := newMetrics()
	scrape := func() string {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
	if strings.Contains(scrape(), "tunnel") {
		t.Error("series of tunnels where there are none")
	}
	m.WatchTunnels(func() []Tunnel { return []Tunnel{{"a.example", 1, 2, 30, 40}, {Host: "b.example"}} })
	text := scrape()
	for _, want := range []string{
		`riftrelay_tunnels{host="a.example"} 1`, `riftrelay_tunnels{host="b.example"} 0`, `riftrelay_tunnels_opened_total{host="a.example"} 2`,
		`riftrelay_tunnel_bytes_total{direction="up",host="a.example"} 30`, `riftrelay_tunnel_bytes_total{direction="down",host="a.example"} 40`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}
