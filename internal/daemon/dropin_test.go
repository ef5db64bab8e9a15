package daemon

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// What probes and scrapers of the relay's first version ask its one port for.
func TestPathsOfTheFirstVersion(t *testing.T) {
	for _, tt := range []struct {
		name, enable, path string
		status             int
		part               string
	}{
		{"health", "", "/healthz", 204, ""},
		{"swagger", "", "/swagger/index.html", 200, "<html"},
		{"where the metrics are", "", "/metrics", 404, "the metrics are on ADMIN_ADDR"},
		{"metrics", "true", "/metrics", 200, "riftrelay_build_info"},
		{"no metrics", "false", "/metrics", 404, "ENABLE_METRICS is false"},
	} {
		g := startRig(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, Requests: -1}, map[string]string{"ENABLE_METRICS": tt.enable})
		if a := g.get(g.front + tt.path); a.status != tt.status || !strings.Contains(a.body, tt.part) {
			t.Errorf("%s: %d %.200s", tt.name, a.status, a.body)
		}
	}
}

// Calls to Riot go through the proxy of the environment, as those of other programs do. The key stays inside TLS.
func TestProxyOfTheEnvironmentIsUsed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan *http.Request, 10)
	proxy := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		w.WriteHeader(http.StatusBadGateway)
	})}
	go proxy.Serve(listener)
	t.Cleanup(func() { proxy.Close() })
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, Requests: -1},
		map[string]string{"UPSTREAM_URL": "https://{host}.api.riotgames.com", "HTTPS_PROXY": "http://" + listener.Addr().String()})
	if a := g.get(g.front + status); a.status != 502 {
		t.Errorf("%d %s", a.status, a.body)
	}
	select {
	case r := <-asked:
		if r.Method != http.MethodConnect || r.Host != "euw1.api.riotgames.com:443" || strings.Contains(strings.Join(r.Header["X-Riot-Token"], ""), "RGAPI") {
			t.Errorf("the proxy got %s %s %v", r.Method, r.Host, r.Header)
		}
	default:
		t.Error("the proxy was not asked")
	}
}
