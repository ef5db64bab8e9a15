package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"riftrelay/internal/config"
	"riftrelay/riotsim"
)

// keyFile writes a token file as Kubernetes and editors do: another file takes
// its place.
func keyFile(t *testing.T, name string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(name+".new", []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// underLoad calls until the returned function is called, which gives how many
// calls there were and what didn't end well.
func (g *rig) underLoad(n int) func() (calls int, failed []string) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	calls, failed := 0, []string(nil)
	for range n {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				a := g.get(g.front + status)
				mu.Lock()
				calls++
				if a.err != nil || a.status != http.StatusOK {
					failed = append(failed, fmt.Sprint(a.status, a.err, a.body))
				}
				mu.Unlock()
			}
		})
	}
	return func() (int, []string) {
		close(stop)
		wg.Wait()
		return calls, failed
	}
}

func (g *rig) arrived(key string) (n int) {
	for _, r := range g.edge.Requests() {
		if r.Header.Get("X-Riot-Token") == key {
			n++
		}
	}
	return n
}

func TestHardeningKeysReloadByRename(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	keyFile(t, file, "# ours", "main="+canary)
	g := startRig(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "50:1"}}, Requests: -1}, map[string]string{"RIOT_TOKEN": "", "RIOT_TOKEN_FILE": file})
	end := g.underLoad(50)
	eventually(t, "calls on the first key", func() bool { return g.arrived(canary) > 20 })

	keyFile(t, file, "main="+canary+"-2", "spare="+canary+"-3")
	eventually(t, "calls on both new keys", func() bool { return g.arrived(canary+"-2") > 5 && g.arrived(canary+"-3") > 5 })

	keyFile(t, file, "main="+canary+"-4", "oops "+canary+"=x y")
	eventually(t, "the failure is counted", func() bool {
		return strings.Contains(g.get(g.admin+"/metrics").body, `riftrelay_config_reloads_total{result="failure"} 1`)
	})
	calls, failed := end()
	if len(failed) > 0 {
		t.Errorf("%d of %d calls failed: %s", len(failed), calls, failed[0])
	}
	if n := g.arrived(canary + "-4"); n > 0 {
		t.Errorf("%d calls on a key of a bad file", n)
	}
	for _, want := range []string{"keys read again", "main,spare", "they can't be read again", "line 2"} {
		if !strings.Contains(g.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, g.log.String())
		}
	}
	if strings.Contains(g.log.String(), "CANARY") {
		t.Errorf("the log has a key:\n%s", g.log.String())
	}
	if v := g.edge.Report().Violations; v > 0 {
		t.Errorf("%d own 429s", v)
	}
}

// A secret of Kubernetes' is mounted as links: keys → ..data/keys, and ..data →
// a directory by time. An update makes another directory and renames a new
// ..data over the old one: the file's own name sees no event.
func TestHardeningKeysReloadOfAKubernetesSecret(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	mount := t.TempDir()
	update := func(version, key string) {
		t.Helper()
		dir := filepath.Join(mount, "..2026_07_01_12_00_"+version)
		if err := errors.Join(
			os.Mkdir(dir, 0o700),
			os.WriteFile(filepath.Join(dir, "keys"), []byte("main="+key+"\n"), 0o600),
			os.Symlink(filepath.Base(dir), filepath.Join(mount, "..data_tmp")),
			os.Rename(filepath.Join(mount, "..data_tmp"), filepath.Join(mount, "..data")),
		); err != nil {
			t.Fatal(err)
		}
	}
	update("01", canary)
	file := filepath.Join(mount, "keys")
	if err := os.Symlink(filepath.Join("..data", "keys"), file); err != nil {
		t.Fatal(err)
	}
	g := startRig(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "50:1"}}, Requests: -1}, map[string]string{"RIOT_TOKEN": "", "RIOT_TOKEN_FILE": file})
	end := g.underLoad(20)
	eventually(t, "calls on the first key", func() bool { return g.arrived(canary) > 20 })
	for i := range 3 { // the link is followed each time anew
		version := fmt.Sprintf("%02d", i+2)
		update(version, canary+"-"+version)
		if err := os.RemoveAll(filepath.Join(mount, fmt.Sprintf("..2026_07_01_12_00_%02d", i+1))); err != nil { // as the kubelet does
			t.Fatal(err)
		}
		eventually(t, "calls on key "+version, func() bool { return g.arrived(canary+"-"+version) > 5 })
	}
	if calls, failed := end(); len(failed) > 0 {
		t.Errorf("%d of %d calls failed: %s", len(failed), calls, failed[0])
	}
	if strings.Contains(g.log.String(), "can't be read again") {
		t.Errorf("log:\n%s", g.log)
	}
}

func TestHardeningKeysReloadByHangup(t *testing.T) {
	var mu sync.Mutex
	env := "RIOT_TOKEN=main=" + canary
	hangup := make(chan os.Signal)
	g := startRigIn(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "50:1"}}, Requests: -1}, map[string]string{"RIOT_TOKEN": ""}, hangup, func(name string) ([]byte, error) {
		if name != ".env" {
			return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
		}
		mu.Lock()
		defer mu.Unlock()
		return []byte(env), nil
	})
	end := g.underLoad(50)
	eventually(t, "calls on the first key", func() bool { return g.arrived(canary) > 20 })
	mu.Lock()
	env = "RIOT_TOKEN=main=" + canary + "-2"
	mu.Unlock()
	hangup <- os.Interrupt // whatever it is called
	eventually(t, "calls on the new key", func() bool { return g.arrived(canary+"-2") > 20 })
	if calls, failed := end(); len(failed) > 0 {
		t.Errorf("%d of %d calls failed: %s", len(failed), calls, failed[0])
	}
	if body := g.get(g.admin + "/metrics").body; !strings.Contains(body, `riftrelay_config_reloads_total{result="success"} 1`) || strings.Contains(body, "CANARY") {
		t.Error("the reload isn't counted, or the metrics have a key")
	}
}

// All keys dead: 503 that says why, not ready, and a new key without restart.
func TestHardeningKeysAllDeadAtTheRelay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	keyFile(t, file, "main="+canary)
	g := startRig(t, riotsim.Config{}, map[string]string{"RIOT_TOKEN": "", "RIOT_TOKEN_FILE": file})
	g.edge.SetKey(canary, 401)
	account := g.front + "/europe/riot/account/v1/accounts/by-riot-id/a/b"
	for _, url := range []string{g.front + status, account, g.front + status} { // two refusals, and the first probe
		if a := g.get(url); a.status != 401 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	a := g.get(g.front + status)
	if a.status != 503 || a.header.Get("X-Riftrelay-Reason") != "no_available_key" || a.header.Get("Retry-After") != "2" || !strings.Contains(a.body, "main: 401 Unknown apikey") || !strings.Contains(a.body, "24 hours") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	a = g.get(g.admin + "/readyz")
	if a.status != 503 || !strings.Contains(a.body, "no usable key") || !strings.Contains(a.body, "main: 401 Unknown apikey") {
		t.Errorf("readyz %d %s", a.status, a.body)
	}
	if body := g.get(g.admin + "/metrics").body; !strings.Contains(body, `riftrelay_key_state{key="main",state="usable"} 0`) {
		t.Error("metrics say that the key is usable")
	}
	keyFile(t, file, "main="+canary+"-2")
	eventually(t, "a call on the new key", func() bool { return g.get(g.front+status).status == 200 })
	if a := g.get(g.front + "/readyz"); a.status != 200 {
		t.Errorf("readyz %d %s", a.status, a.body)
	}
}

// Without a file, and with keys that can't change, a hang-up does no harm.
func TestReloadOfUnchangedKeys(t *testing.T) {
	g := startRig(t, riotsim.Config{}, nil)
	g.reload("SIGHUP")
	if a := g.get(g.front + status); a.status != 200 {
		t.Errorf("%d", a.status)
	}
	if _, err := config.Parse(nil, world(nil)); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Log and traces hide the keys of now and of before, also such as don't look like
// Riot's.
func TestReloadedKeysAreHidden(t *testing.T) {
	const first, second = "first-key-of-no-form-CANARY", "second-key-of-no-form-CANARY"
	file := filepath.Join(t.TempDir(), "keys")
	keyFile(t, file, "main="+first)
	g := startRig(t, riotsim.Config{}, map[string]string{"RIOT_TOKEN": "", "RIOT_TOKEN_FILE": file})
	keyFile(t, file, "main="+second)
	if _, err := g.reload("SIGHUP"); err != nil {
		t.Fatal(err)
	}
	g.relay.log.With("a", "b").WithGroup("c").Info("an upstream said", "what", first+" and "+second)
	if text := g.log.String() + guardOf(g.relay.log).hide(first+second); strings.Contains(text, "CANARY") || strings.Count(text, hidden) < 4 {
		t.Errorf("log and traces:\n%s", text)
	}
}
