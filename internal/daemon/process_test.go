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

// The program as a process: it starts, says where, serves, and ends by a signal.
func TestProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	edge, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Args = []string{"riftrelay"}
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"RIOT_TOKEN=main=" + canary, "UPSTREAM_URL=" + upstream, "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=off", "LOG_LEVEL=debug", "GORACE=" + quickExit}
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var line struct{ Msg, Relay string }
	lines := bufio.NewScanner(stderr)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &line) != nil || line.Relay == "" {
		t.Fatalf("the first line is %q", lines.Text())
	}
	log := lines.Text()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + line.Relay + status)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("X-RiftRelay-Source") != "riot" || edge.Report().Accepted != 1 {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		log += "\n" + lines.Text()
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log, `"msg":"stopped"`) || strings.Contains(log, "CANARY") || stdout.Len() > 0 {
		t.Errorf("stdout %q, log:\n%s", &stdout, log)
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
