package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"riftrelay/riotsim"
)

// The test binary is also the program: called as "riftrelay" it does what
// cmd/riftrelay does.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"riftrelay": func() { os.Exit(Main(context.Background(), ThisProcess())) },
	})
}

type leakChecked struct{ *testing.M }

// Run fails if a goroutine is left when all tests have passed.
func (m leakChecked) Run() int {
	status := m.M.Run()
	if status == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	return status
}

// quickExit spares a second at the end of each process under -race.
const quickExit = "atexit_sleep_ms=0"

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(env *testscript.Env) error {
		env.Setenv("GORACE", quickExit)
		return nil
	}})
}

// process is the program as a process of its own.
type process struct {
	cmd          *exec.Cmd
	front, admin string // base URLs; admin may be empty
	stdout       bytes.Buffer
	log          buffer
	read         chan struct{} // closed when the log has been read to its end
}

// startProcess starts it with these variables, in dir.
func startProcess(t *testing.T, dir string, env ...string) *process {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(t.Context(), exe), read: make(chan struct{})}
	p.cmd.Args, p.cmd.Dir, p.cmd.Stdout = []string{"riftrelay"}, dir, &p.stdout
	p.cmd.Env = append([]string{"LISTEN_ADDR=127.0.0.1:0", "LOG_LEVEL=debug", "GORACE=" + quickExit}, env...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var line struct{ Relay, Admin string }
	lines := bufio.NewScanner(stderr)
	for line.Relay == "" {
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &line) != nil {
			t.Fatalf("no line says where the relay is, the last is %q", lines.Text())
		}
		fmt.Fprintln(&p.log, lines.Text())
	}
	p.front, p.admin = "http://"+line.Relay, "http://"+line.Admin
	go func() {
		defer close(p.read)
		for lines.Scan() {
			fmt.Fprintln(&p.log, lines.Text())
		}
	}()
	return p
}

// stop asks it to stop, and fails the test if it doesn't end well, or has told
// a key.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.read
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if log := p.log.String(); !strings.Contains(log, `"msg":"stopped"`) || strings.Contains(log, "CANARY") || p.stdout.Len() > 0 {
		t.Errorf("stdout %q, log:\n%s", &p.stdout, log)
	}
}

// The program as a process: it starts, says where, serves, and ends by a signal.
func TestProcess(t *testing.T) {
	edge, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}})
	p := startProcess(t, t.TempDir(), "RIOT_TOKEN=main="+canary, "UPSTREAM_URL="+upstream, "ADMIN_ADDR=off")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(p.front + status)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("X-RiftRelay-Source") != "riot" || edge.Report().Accepted != 1 {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	p.stop(t)
}

// A real SIGHUP, while calls wait: the keys change, and nothing that waits is
// dropped.
func TestHardeningKeysReloadBySIGHUP(t *testing.T) {
	dir := t.TempDir()
	write := func(keys string) {
		t.Helper()
		// Not a token file: that one is watched, and would be read without a signal.
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("RIOT_TOKEN="+keys+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main=" + canary)
	edge, upstream := startEdge(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "50:1"}}, Requests: -1})
	p := startProcess(t, dir, "UPSTREAM_URL="+upstream, "ADMIN_ADDR=127.0.0.1:0", "PACING=burst")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	g := &rig{edge: edge, front: p.front, admin: p.admin, client: client}
	end := g.underLoad(100)
	eventually(t, "calls on the first key", func() bool { return g.arrived(canary) > 20 })
	var s struct{ Queued int }
	eventually(t, "calls that wait", func() bool {
		return json.Unmarshal([]byte(g.get(g.admin+"/api/v1/state").body), &s) == nil && s.Queued >= 40
	})
	write("main=" + canary + "-2,spare=" + canary + "-3")
	if n := g.arrived(canary + "-2"); n > 0 {
		t.Errorf("%d calls on a key before the signal", n)
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "calls on both new keys", func() bool { return g.arrived(canary+"-2") > 20 && g.arrived(canary+"-3") > 20 })
	if calls, failed := end(); len(failed) > 0 {
		t.Errorf("%d of %d calls failed: %s", len(failed), calls, failed[0])
	}
	if v := edge.Report().Violations; v > 0 {
		t.Errorf("%d own 429s", v)
	}
	p.stop(t)
	if !strings.Contains(p.log.String(), `"why":"SIGHUP"`) {
		t.Errorf("log:\n%s", &p.log)
	}
}

func TestSim(t *testing.T) {
	var stdout, stderr buffer
	signals, ended := make(chan os.Signal, 1), make(chan int, 1)
	p := Process{
		Args: []string{"sim", "--addr", "127.0.0.1:0", "--app-limit", "2:10", "--delay", "0", "--key", "a-key-of-the-test"},
		Env:  world(nil), Stdout: &stdout, Stderr: &stderr, Signals: signals,
	}
	go func() { ended <- Main(context.Background(), p) }()
	eventually(t, "the address", func() bool { return strings.Contains(stdout.String(), "\n") })
	_, url, _ := strings.Cut(stdout.String(), "http://")
	url, _, _ = strings.Cut(url, ",")

	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for i, want := range []int{200, 200, 429, 401} {
		req, err := http.NewRequest(http.MethodGet, "http://"+url+status, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Riot-Token", "a-key-of-the-test")
		if want == 401 {
			req.Header.Set("X-Riot-Token", "another")
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("call %d: %d, want %d", i, resp.StatusCode, want)
		}
	}
	signals <- os.Interrupt
	if code := <-ended; code != exitOK || stderr.String() != "" {
		t.Errorf("status %d, %s", code, &stderr)
	}
	if !strings.Contains(stdout.String(), "arrived 4, accepted 2") || strings.Contains(stdout.String(), "a-key-of") {
		t.Error(stdout.String())
	}
}

func TestSimNamesWhatIsTaken(t *testing.T) {
	_, url := startEdge(t, riotsim.Config{})
	var stdout, stderr buffer
	addr := strings.TrimPrefix(url, "http://")
	code := Main(t.Context(), Process{Args: []string{"sim", "--addr", addr}, Env: world(nil), Stdout: &stdout, Stderr: &stderr})
	if code != exitFailed || !strings.Contains(stderr.String(), "--addr: can't listen on "+addr) {
		t.Errorf("status %d, %s", code, &stderr)
	}
}
