package metrics

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestConnections(t *testing.T) {
	m := newMetrics()
	m.WatchConnections(func() []Connections {
		return []Connections{{Listener: "relay", Most: 400, Open: map[string]int{"active": 3, "idle": 0}, Closed: 5, Refused: 6}}
	})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`riftrelay_connections{listener="relay",state="active"} 3`, `riftrelay_connections{listener="relay",state="idle"} 0`,
		`riftrelay_connections_max{listener="relay"} 400`, `riftrelay_connections_closed_total{listener="relay"} 5`, `riftrelay_connections_refused_total{listener="relay"} 6`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}
