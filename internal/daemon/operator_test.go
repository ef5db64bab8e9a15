package daemon

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"riftrelay/internal/config"
	"riftrelay/riotsim"
)

// The tests of this file are about what operators do to a relay that serves.

// post makes a change through the admin API.
func (g *rig) post(t *testing.T, path string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.admin+"/api/v1/"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	resp, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body), err, time.Now()}
}

func (g *rig) has(t *testing.T, url string, parts ...string) {
	t.Helper()
	a := g.get(url)
	for _, part := range parts {
		if !strings.Contains(a.body, part) {
			t.Errorf("%s: %d %s\nlacks %s", url, a.status, a.body, part)
		}
	}
}

func TestDisableKeysAtTheRelay(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state.json")
	vars := map[string]string{
		"RIOT_TOKEN": "main=" + canary + ",tournament=" + canary + "-2", "KEY_ROUTES": "/lol/tournament/=tournament", "STATE_FILE": state, "ADMIN_TOKEN": "correct-horse-42",
	}
	g := startRig(t, riotsim.Config{Requests: -1}, vars)
	if a := g.post(t, "keys/tournament/disable"); a.status != http.StatusUnauthorized {
		t.Errorf("without the token: %d %s", a.status, a.body)
	}
	bearer := []string{"Authorization", "Bearer correct-horse-42"}
	if a := g.post(t, "keys/tournament/disable", append(bearer, "Host", "evil.example")...); a.status != http.StatusForbidden {
		t.Errorf("another Host: %d %s", a.status, a.body)
	}
	if a := g.post(t, "keys/tournament/disable", bearer...); a.status != http.StatusOK || !strings.Contains(a.body, `"state": "disabled"`) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := g.get(g.front + "/readyz"); a.status != http.StatusOK {
		t.Errorf("readyz %d %s", a.status, a.body)
	}
	if a := g.get(g.front + "/readyz"); strings.Contains(a.body, "tournament") {
		t.Errorf("the relay's port tells anybody the names of keys: %s", a.body)
	}
	g.has(t, g.admin+"/readyz", `"no key of group tournament is usable"`, `"key tournament is disabled: disabled 0 s ago"`)
	g.has(t, g.admin+"/metrics", `riftrelay_key_state{key="tournament",state="disabled"} 1`, `riftrelay_key_state{key="main",state="usable"} 1`)
	g.has(t, g.front+"/americas/lol/tournament/v5/codes/NA1234a-1a23b456-a1b2-1abc-ab12-1234567890ab", "tournament: disabled")
	if a := g.get(g.front + status); a.status != http.StatusOK {
		t.Errorf("other calls: %d %s", a.status, a.body)
	}
	var out bytes.Buffer
	if err := (Process{Stdout: &out}).status(t.Context(), config.StatusOptions{Addr: g.admin}); err != nil || !strings.Contains(out.String(), "disabled  disabled ") {
		t.Errorf("status: %v\n%s", err, &out)
	}

	if a := g.post(t, "keys/main/disable", bearer...); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	a := g.get(g.front + status)
	if a.status != http.StatusServiceUnavailable || a.header.Get("X-Riftrelay-Reason") != "no_available_key" || !strings.Contains(a.body, "main: disabled") {
		t.Errorf("with no key: %d %v %s", a.status, a.header, a.body)
	}
	if a := g.get(g.front + "/readyz"); a.status != http.StatusServiceUnavailable || a.body != `{"ready":false,"reasons":["no_usable_key"]}`+"\n" {
		t.Errorf("readyz for anybody: %d %s", a.status, a.body)
	}
	if a := g.get(g.admin + "/readyz"); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "no usable key") || !strings.Contains(a.body, "main: disabled") {
		t.Errorf("readyz with no key: %d %s", a.status, a.body)
	}
	g.stopAndWait(t)
	if n := strings.Count(g.log.String(), `"msg":"key is disabled"`); n != 2 {
		t.Errorf("the log says %d times that a key is disabled:\n%s", n, g.log)
	}
	if text, err := os.ReadFile(state); err != nil || strings.Contains(string(text), "CANARY") || strings.Contains(g.log.String(), "CANARY") || strings.Contains(g.log.String(), "horse") {
		t.Errorf("a secret is in the state or the log, or there is no state: %v", err)
	}

	// So it stays over a restart, until somebody enables them.
	g = startRig(t, riotsim.Config{Requests: -1}, vars)
	if a := g.get(g.front + status); a.status != http.StatusServiceUnavailable || len(g.edge.Requests()) > 0 {
		t.Errorf("after the restart: %d %s", a.status, a.body)
	}
	if a := g.post(t, "keys/main/enable", bearer...); a.status != http.StatusOK || !strings.Contains(a.body, `"usable": true`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := g.get(g.front + status); a.status != http.StatusOK {
		t.Errorf("enabled: %d %s", a.status, a.body)
	}
	if a := g.post(t, "keys/nobody/enable", bearer...); a.status != http.StatusNotFound || !strings.Contains(a.body, "allowed: main, tournament") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestRecheckAtTheRelay(t *testing.T) {
	g := startRig(t, riotsim.Config{}, nil)
	g.edge.SetKey(canary, 401)
	// The key is suspect once several hosts and several APIs refuse it. The third
	// call is a probe, and later ones are refused because it failed.
	for _, target := range []string{status, "/kr/lol/summoner/v4/summoners/by-puuid/x", status} {
		if a := g.get(g.front + target); a.status != http.StatusUnauthorized {
			t.Fatalf("%s: %d %s", target, a.status, a.body)
		}
	}
	if a := g.get(g.front + status); a.status != http.StatusServiceUnavailable {
		t.Fatalf("%d %s", a.status, a.body)
	}
	g.edge.SetKey(canary, 200)
	if a := g.post(t, "keys/main/recheck"); a.status != http.StatusOK || !strings.Contains(a.body, `"state": "suspect"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := g.get(g.front + status); a.status != http.StatusOK {
		t.Errorf("after the recheck: %d %s", a.status, a.body)
	}
}

// The admin call reads the keys again as SIGHUP does, and says what changed; a
// mistake is answered, and changes nothing.
func TestHardeningKeysReloadByAdminCall(t *testing.T) {
	env := "RIOT_TOKEN=main=" + canary
	g := startRigIn(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "50:1"}}, Requests: -1}, map[string]string{"RIOT_TOKEN": ""}, nil, func(name string) ([]byte, error) {
		if name != ".env" {
			return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
		}
		return []byte(env), nil // only read by the admin call below
	})
	end := g.underLoad(50)
	eventually(t, "calls on the first key", func() bool { return g.arrived(canary) > 20 })
	env = "RIOT_TOKEN=main=" + canary + "-2,spare=" + canary + "-3"
	a := g.post(t, "reload")
	if got := strings.Join(strings.Fields(a.body), ""); a.status != http.StatusOK || got != `{"keys":["main","spare"],"added":["spare"],"replaced":["main"],"removed":[]}` {
		t.Errorf("%d %s", a.status, got)
	}
	eventually(t, "calls on both new keys", func() bool { return g.arrived(canary+"-2") > 5 && g.arrived(canary+"-3") > 5 })
	env = "RIOT_TOKEN=main=" + canary + "-4,=" + canary + "-5"
	if a := g.post(t, "reload"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "the keys are as they were: RIOT_TOKEN key 1") || strings.Contains(a.body, "CANARY") {
		t.Errorf("%d %s", a.status, a.body)
	}
	calls, failed := end()
	if len(failed) > 0 {
		t.Errorf("%d of %d calls failed: %s", len(failed), calls, failed[0])
	}
	if n := g.arrived(canary + "-4"); n > 0 {
		t.Errorf("%d calls on a key of a bad list", n)
	}
	g.has(t, g.admin+"/metrics", `riftrelay_config_reloads_total{result="success"} 1`, `riftrelay_config_reloads_total{result="failure"} 1`)
}

// Profiles can hold keys: a page that has rebound its name must not get them.
func TestProfilesOfOtherHostsAreRefused(t *testing.T) {
	g := startRig(t, riotsim.Config{}, map[string]string{"ENABLE_PPROF": "true"})
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/api/v1/state"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.admin+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for host, want := range map[string]int{"evil.example": http.StatusForbidden, "localhost:8986": http.StatusOK} {
			req.Host = host
			resp, err := g.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s at %s: %d, want %d", path, host, resp.StatusCode, want)
			}
		}
	}
}
