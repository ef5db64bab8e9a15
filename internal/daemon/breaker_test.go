package daemon

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"riftrelay/internal/config"
	"riftrelay/riotsim"
)

// A limit that keeps being exceeded, here because Riot says so, is used by
// half, and that is said loudly.
func TestBreakerIsLoud(t *testing.T) {
	g := startRig(t, riotsim.Config{
		Keys:   map[string]string{canary: riotsim.Large},
		Faults: []riotsim.Fault{{Kind: riotsim.Method, Header: http.Header{"Retry-After": {"0"}}, Times: 2}},
	}, map[string]string{"VIOLATION_LIMIT": "1"})
	if a := g.get(g.front + status); a.err != nil || a.status != 200 {
		t.Fatal(a)
	}
	if log := g.log.String(); !strings.Contains(log, "blacklists") || !strings.Contains(log, "/lol/status/v4/platform-data") {
		t.Errorf("log:\n%s", log)
	}
	if a := g.get(g.admin + "/api/v1/state"); !strings.Contains(a.body, `"halved": 1`) && !strings.Contains(a.body, `"halved":1`) {
		t.Errorf("state: %s", a.body)
	}
	if a := g.get(g.admin + "/readyz"); a.status != http.StatusOK || !strings.Contains(a.body, `"warnings":["breaker tripped: euw1:/lol/status/v4/platform-data on key main uses 1/2 of its limits`) {
		t.Errorf("readyz: %d %s", a.status, a.body)
	}
	if a := g.get(g.admin + "/metrics"); !strings.Contains(a.body, `riftrelay_breaker_level{endpoint="lol/status/v4/platform-data",key="main",region="euw1"} 1`) {
		t.Error("the metrics don't tell")
	}
	var out bytes.Buffer
	if err := (Process{Stdout: &out}).status(t.Context(), config.StatusOptions{Addr: g.admin}); err != nil || !strings.Contains(out.String(), "1/2 of its limits") {
		t.Errorf("status: %v\n%s", err, &out)
	}
}
