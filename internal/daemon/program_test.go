//go:build unix

package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"riftrelay/internal/admin"
)

// program is a relay that runs as a process of its own.
type program struct {
	cmd   *exec.Cmd
	front string // its address
	admin string
	log   string // file that its log goes to
}

// startProgram has a shell set limits ("ulimit -n 256") and become the relay.
func startProgram(t *testing.T, upstream, limits string, vars ...string) *program {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &program{log: filepath.Join(dir, "log")}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.CommandContext(t.Context(), "/bin/sh", "-c", limits+`; exec "$0"`, exe)
	// The shell hands on its name as the program's, which is what the test
	// binary goes by.
	link := filepath.Join(dir, "riftrelay")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	p.cmd.Args[3] = link
	p.cmd.Dir = dir
	p.cmd.Stderr = log
	p.cmd.Env = append([]string{"RIOT_TOKEN=main=" + canary, "UPSTREAM_URL=" + upstream, "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0", "PACING=burst", "GORACE=" + quickExit}, vars...)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.cmd.Process.Kill()
			p.cmd.Wait()
		}
	})
	eventually(t, "the line of the log that says where it serves", func() bool {
		for line := range strings.Lines(p.said(t)) {
			var at struct{ Relay, Admin string }
			if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &at) == nil && at.Relay != "" {
				p.front, p.admin = "http://"+at.Relay, "http://"+at.Admin
				return true
			}
		}
		return false
	})
	return p
}

func (p *program) said(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// stop ends it by a signal and returns its exit.
func (p *program) stop(t *testing.T) error {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return p.cmd.Wait()
}

func (p *program) state(t *testing.T, client *http.Client) (s admin.State) {
	t.Helper()
	resp, err := client.Get(p.admin + "/api/v1/state")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// memoryOf reads what the system says of a process, in KiB.
func memoryOf(t *testing.T, p *program) map[string]int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return nil // no Linux
	}
	got := map[string]int{}
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(string(line), ":")
		if f := strings.Fields(value); len(f) == 2 && f[1] == "kB" {
			got[name], _ = strconv.Atoi(f[0])
		}
	}
	return got
}
