package daemon

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/internal/admin"
	"riftrelay/internal/config"
	"riftrelay/riotsim"
)

// A relay that comes back in a full window knows that it is full.
func TestStateFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	sim := riotsim.Config{Keys: map[string]string{canary: "5:600"}}
	g := startRig(t, sim, map[string]string{"STATE_FILE": file})
	for range 5 {
		if code := getStatus(t, g, g.front+status); code != http.StatusOK {
			t.Fatalf("status %d", code)
		}
	}
	g.stopAndWait(t)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("CANARY")) || !bytes.Contains(data, []byte(`"final":true`)) {
		t.Errorf("state: %s", data)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	g = startRig(t, sim, map[string]string{"STATE_FILE": file})
	var s admin.State
	if err := json.Unmarshal(body(t, g, g.admin+"/api/v1/state"), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Scopes) == 0 || s.Scopes[0].Windows[0].Used != 5 || s.Scopes[0].Windows[0].Limit != 5 {
		t.Errorf("after the restart: %+v", s.Scopes)
	}
	var e admin.Estimate
	if err := json.Unmarshal(body(t, g, g.admin+"/api/v1/estimate?host=euw1&path=/lol/status/v4/platform-data"), &e); err != nil || e.Wait == nil || *e.Wait < 500 {
		t.Errorf("estimate %+v, %v", e, err)
	}
	if !strings.Contains(g.log.String(), "state of before taken over") {
		t.Errorf("log: %s", g.log)
	}
	out := new(bytes.Buffer)
	if err := (Process{Stdout: out}).status(t.Context(), config.StatusOptions{Addr: g.admin}); err != nil || !strings.Contains(out.String(), "5/5") {
		t.Errorf("status: %v\n%s", err, out)
	}
	g.stopAndWait(t)
}

// An estimate waits for the key that gave a player's id, as the call would.
func TestEstimateOfAPlayersID(t *testing.T) {
	g := startRig(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "5:600"}}}, map[string]string{"RIOT_TOKEN": "main=RGAPI-CANARY-a,spare=RGAPI-CANARY-b", "PACING": "burst"})
	by := "/lol/summoner/v4/summoners/by-puuid/" + strings.Repeat("p", 78)
	for range 5 {
		if code := getStatus(t, g, g.front+"/euw1"+by); code != http.StatusOK {
			t.Fatal(code)
		}
	}
	for path, waits := range map[string]bool{by: true, "/lol/summoner/v4/summoners/by-puuid/x": false} {
		var e admin.Estimate
		if err := json.Unmarshal(body(t, g, g.admin+"/api/v1/estimate?host=euw1&path="+path), &e); err != nil || e.Wait == nil || (*e.Wait > 500) != waits {
			t.Errorf("%s: %+v, %v", path, e, err)
		}
	}
	g.stopAndWait(t)
}

func TestDamagedStateFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(file, []byte(`{"version":1,"sco`), 0o600); err != nil {
		t.Fatal(err)
	}
	g := startRig(t, riotsim.Config{}, map[string]string{"STATE_FILE": file})
	if code := getStatus(t, g, g.front+status); code != http.StatusOK {
		t.Errorf("status %d", code)
	}
	if aside, err := os.ReadFile(file + ".damaged"); err != nil || !bytes.HasPrefix(aside, []byte(`{"version":1,"sco`)) {
		t.Errorf("set aside: %q, %v", aside, err)
	}
	if !strings.Contains(g.log.String(), "STATE_FILE is damaged") {
		t.Errorf("log: %s", g.log)
	}
	g.stopAndWait(t)
	if data, err := os.ReadFile(file); err != nil || !json.Valid(data) {
		t.Errorf("written anew: %s, %v", data, err)
	}
}

// A file that can't be written is said once, not at every try.
func TestStateFileCannotBeWritten(t *testing.T) {
	limiter, err := riftrelay.New(riftrelay.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer limiter.Close()
	dir := filepath.Join(t.TempDir(), "later")
	log := &buffer{}
	var written []bool
	k := &keeper{file: filepath.Join(dir, "state.json"), limiter: limiter, log: newLogger(log, &config.Settings{LogFormat: "json"}, true), written: func(ok bool) { written = append(written, ok) }}
	k.save()
	k.save()
	if n := strings.Count(log.String(), "can't be written"); n != 1 {
		t.Errorf("said %d times: %s", n, log)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k.save()
	if !strings.Contains(log.String(), "written again") {
		t.Errorf("log: %s", log)
	}
	if want := []bool{false, false, true}; !slices.Equal(written, want) {
		t.Errorf("counted %v, want %v", written, want)
	}
}

// A file system that hangs doesn't keep the relay from stopping.
func TestStateFileHangs(t *testing.T) {
	k, log := newKeeper(t, filepath.Join(t.TempDir(), "state.json"))
	saving, hang := make(chan struct{}), make(chan struct{})
	k.written = func(bool) { close(saving); <-hang }
	stop := k.start()
	begin := time.Now()
	stop()
	if took := time.Since(begin); took < lastSave || took > lastSave+2*time.Second {
		t.Errorf("the stop took %v", took)
	}
	<-saving
	if !strings.Contains(log.String(), "can't be written in time") {
		t.Errorf("log: %s", log)
	}
	close(hang)
}

func (g *rig) stopAndWait(t *testing.T) {
	t.Helper()
	g.signals <- syscall.SIGTERM
	if err := g.stopped(t); err != nil {
		t.Error(err)
	}
}

func getStatus(t *testing.T, g *rig, url string) int {
	t.Helper()
	resp, err := g.client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func body(t *testing.T, g *rig, url string) []byte {
	t.Helper()
	resp, err := g.client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return b
}
