//go:build unix

package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// Whatever takes the place of a file of keys, the keys stay as they were, the next
// good file is taken, and neither a reload nor a stop waits for it. So with the
// state file.
func TestOddFiles(t *testing.T) {
	const first, second = canary, "RGAPI-CANARY-the-second-of-two-keys"
	edge, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{first: riotsim.Large, second: riotsim.Large}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Requests: -1})
	dir := t.TempDir()
	keys, state := filepath.Join(dir, "keys"), filepath.Join(dir, "state")
	put := func(create func(name string) error) {
		t.Helper()
		made := filepath.Join(dir, "made")
		if err := create(made); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(keys); err != nil { // a directory can't be replaced
			t.Fatal(err)
		}
		if err := os.Rename(made, keys); err != nil {
			t.Fatal(err)
		}
	}
	file := func(text string) func(string) error {
		return func(name string) error { return os.WriteFile(name, []byte(text), 0o600) }
	}
	pipe := func(name string) error { return syscall.Mkfifo(name, 0o600) }
	put(file("main=" + first + "\n"))
	if err := pipe(state); err != nil {
		t.Fatal(err)
	}
	p := startProgram(t, upstream, ":", "RIOT_TOKEN=", "RIOT_TOKEN_FILE="+keys, "STATE_FILE="+state, "SHUTDOWN_TIMEOUT=5s")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	call := func() {
		t.Helper()
		resp, err := client.Get(p.front + status)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("a call: %d", resp.StatusCode)
		}
	}
	used := func(key string) bool {
		call()
		all := edge.Requests()
		return all[len(all)-1].Header.Get("X-Riot-Token") == key
	}
	for text, odd := range map[string]func(string) error{
		"a pipe":      pipe,
		"a directory": func(name string) error { return os.Mkdir(name, 0o700) },
		"a huge file": func(name string) error {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(name, 1<<40)
		},
	} {
		refusals := strings.Count(p.said(t), "keys are as they were")
		put(odd)
		eventually(t, text+" is refused", func() bool { return strings.Count(p.said(t), "keys are as they were") > refusals })
		if !used(first) {
			t.Errorf("%s: another key is used", text)
		}
	}
	// A slow writer: what looks like a key meanwhile isn't taken.
	half := len("main=") + len(second)/2
	whole := "main=" + second
	put(file(whole[:half]))
	for begin := time.Now(); time.Since(begin) < 600*time.Millisecond; {
		if !used(first) {
			t.Fatal("half a key is used")
		}
	}
	if err := os.WriteFile(keys, []byte(whole), 0o600); err != nil { // without a line end
		t.Fatal(err)
	}
	eventually(t, "the second key", func() bool { return used(second) })
	put(pipe)
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := p.stop(t); err != nil || time.Since(begin) > 5*time.Second {
		t.Errorf("the stop: %v after %v\n%s", err, time.Since(begin), p.said(t))
	}
	for _, r := range edge.Requests() {
		if key := r.Header.Get("X-Riot-Token"); key != first && key != second {
			t.Errorf("Riot saw %q", key)
		}
	}
	if said := p.said(t); !strings.Contains(said, "STATE_FILE can't be read") {
		t.Errorf("nothing is said of the state file:\n%s", said)
	}
}
