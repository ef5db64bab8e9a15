package check

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"riftrelay/riotsim"
)

// root is the project's directory.
const root = "../.."

// need finds a program. Where there is none the test is skipped;
// RIFTRELAY_REQUIRE=all makes that a failure.
func need(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("RIFTRELAY_REQUIRE") == "all" {
		t.Fatalf("no %s here (Debian's package %s)", name, pkg)
	}
	t.Skipf("no %s here (Debian's package %s): what needs it isn't tested", name, pkg)
	return ""
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// output runs a program and returns what it said.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, b)
	}
	return string(b)
}

// program builds the relay once, as releases are built.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "riftrelay-check-")
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, "riftrelay")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", exe, "./cmd/riftrelay")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return exe, cmd.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if exe, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(exe))
	}
	os.Exit(code)
}

// freeAddr is a loopback address that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually waits for something that real processes do.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// relay is a running program with everything switched on, in front of a
// simulated edge that has been unkind to it.
type relay struct {
	t            *testing.T
	front, admin string
	log          *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func startRelay(t *testing.T, vars ...string) *relay {
	t.Helper()
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{t: t, log: &lockedBuffer{}}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Dir = t.TempDir() // no .env
	cmd.Env = append([]string{"LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0", "LOG_FORMAT=json"}, vars...)
	cmd.Stderr = r.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the relay said:\n%s", r.log)
		}
	})
	eventually(t, "the address in the log", func() bool {
		for l := range strings.Lines(r.log.String()) {
			var line struct{ Relay, Admin string }
			if json.Unmarshal([]byte(l), &line) == nil && line.Relay != "" {
				r.front, r.admin = "http://"+line.Relay, "http://"+line.Admin
			}
		}
		return r.front != ""
	})
	return r
}

func (r *relay) get(path string, header ...string) int {
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.front+path, nil)
	if err != nil {
		r.t.Error(err)
		return 0
	}
	req.Header.Set("X-Relay-Token", clientToken)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// clientToken is that of the calls, for relays that want one.
const clientToken = "token-of-the-check"

// busyRelay has a series of every kind: it shares a store, writes its state,
// keeps a budget, knows its clients, has calls that wait, was refused by Riot, tried again, and has
// a limit that it uses by half.
func busyRelay(t *testing.T) *relay {
	t.Helper()
	store := miniredis.RunT(t)
	edge := riotsim.NewServer(t, riotsim.AppLimit("30:1,100:10"), riotsim.MethodLimit("match-v5", "2:10"))
	const status, match = "/lol/status/v4/platform-data", "/europe/lol/match/v5/matches/EUW1_1"
	for _, f := range []riotsim.Fault{
		{Host: "kr", Kind: riotsim.Service, Times: 1, Wait: time.Second},
		{Host: "br1", Kind: riotsim.Method, Times: 1, Wait: time.Second},
		{Host: "na1", Status: 503, Times: 1},
	} {
		if err := edge.Inject(f); err != nil {
			t.Fatal(err)
		}
	}
	riot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Riot-Deprecated", "1893456000000") // R15
		edge.ServeHTTP(w, r)
	}))
	t.Cleanup(riot.Close)
	r := startRelay(t, "RIOT_TOKEN=main=RGAPI-check", "CLIENT_TOKENS=check="+clientToken, "UPSTREAM_URL="+riot.URL, "STORE_URL=redis://"+store.Addr()+"/0", "PACING=burst",
		"STATE_FILE="+filepath.Join(t.TempDir(), "state.json"), "RATE_BUDGET_crawler=0.5", "VIOLATION_LIMIT=0", "RETRY=503",
		"TRUST_DIR="+filepath.Join(t.TempDir(), "trust"))
	for _, host := range []string{"euw1", "kr", "br1", "na1"} {
		if got := r.get("/"+host+status, "X-Rate-Budget", "crawler"); got != 200 {
			t.Errorf("a call to %s: %d", host, got)
		}
	}
	// More than the method's limit, so that some wait until the test is over.
	for range 6 {
		go r.get(match)
	}
	return r
}
