package replicas

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"riftrelay/internal/redisserver"
	"riftrelay/riotsim"
)

// long makes the repeats that take minutes.
var long = flag.Bool("long", false, "replicas killed × 20, Sentinel failed over × 5, the store away for 60 s")

// binary is the relay, as users run it.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		if runtime.GOOS == "windows" {
			fmt.Println("no signals here: replicas aren't tested")
			return 0
		}
		dir, err := os.MkdirTemp("", "replicas")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "riftrelay")
		if out, err := exec.Command("go", "build", "-o", binary, "riftrelay/cmd/riftrelay").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		// The tests mostly wait, but not only: with too many at once the store's
		// answers come too late, and each test sees its faults at all times.
		if err := flag.Set("test.parallel", "5"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		go watchMachine()
		defer tellOfMachine()
		return m.Run()
	}())
}

const (
	canary = "RGAPI-CANARY-replicas"
	target = "/euw1/lol/status/v4/platform-data"
	host   = "euw1"
)

// limit is what most tests share out: 50 calls a second.
const (
	limitText  = "100:2"
	limitCalls = 100
	window     = 2 * time.Second
	limitRate  = 50.0
)

// rig is an edge, and the relays that call it with one key.
type rig struct {
	t        *testing.T
	edge     *riotsim.Edge
	kernel   *kernel // which receives calls for the edge
	upstream string
	vars     []string // of all relays
	relays   []*relay
	planned  int // how often all relays lose their store at once, by the test's will
}

// newRig starts an edge.
func newRig(t *testing.T, limit string, vars ...string) *rig {
	t.Helper()
	edge, err := riotsim.New(riotsim.Config{
		Keys: map[string]string{canary: limit, otherKey: limit}, Body: riotsim.Tiny, Arrivals: -1,
		Latency: riotsim.Latency{Up: 10 * time.Millisecond, UpJitter: 5 * time.Millisecond, Down: 10 * time.Millisecond, DownJitter: 5 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &kernel{Listener: l}
	if _, err := fmt.Sscanf(limit, "%d:%d", &k.calls, &k.seconds); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := edge.Serve(k); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { edge.Close(); <-served })
	return &rig{t: t, edge: edge, kernel: k, upstream: "http://" + l.Addr().String(), vars: append([]string{"PACING=spread"}, vars...)} // evenly, so that each window shows the rate
}

// relay is one process.
type relay struct {
	cmd          *exec.Cmd
	front, admin string
	url          string // of its store
	read         chan struct{}

	mu  sync.Mutex
	log strings.Builder
}

// start runs a relay; url "" is one without a store.
func (r *rig) start(url string) *relay {
	r.t.Helper()
	p := &relay{cmd: exec.Command(binary), url: url, read: make(chan struct{})}
	p.cmd.Dir = r.t.TempDir()
	p.cmd.Env = append([]string{
		"RIOT_TOKEN=main=" + canary, "UPSTREAM_URL=" + r.upstream, "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0", "STORE_URL=" + url, "LOG_FORMAT=json",
	}, r.vars...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { p.kill(); p.check(r.t) })
	lines := bufio.NewScanner(stderr)
	for p.front == "" {
		if !lines.Scan() {
			r.t.Fatalf("the relay ended:\n%s", p.said())
		}
		p.say(lines.Text())
		var line struct{ Relay, Admin string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Relay != "" {
			p.front, p.admin = "http://"+line.Relay, "http://"+line.Admin
		}
	}
	go func() {
		defer close(p.read)
		for lines.Scan() {
			p.say(lines.Text())
		}
	}()
	r.relays = append(r.relays, p)
	return p
}

// startAll runs a relay for each URL and waits until they know of each other.
func (r *rig) startAll(urls ...string) {
	r.t.Helper()
	for _, url := range urls {
		r.start(url)
	}
	r.meet()
}

// meet waits until all relays know of each other.
func (r *rig) meet() {
	r.t.Helper()
	eventually(r.t, "replicas that know of each other", func() bool {
		for _, p := range r.relays {
			if s := p.store(); s == nil || s.Replicas != len(r.relays) || s.Away != "" {
				return false
			}
		}
		return true
	})
}

// ready waits until it says that it is.
func (p *relay) ready(t *testing.T) {
	t.Helper()
	c := http.Client{Timeout: 5 * time.Second}
	eventually(t, "replica that is ready", func() bool {
		resp, err := c.Get(p.front + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

func (p *relay) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.WriteString(line + "\n")
}

func (p *relay) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// kill ends it at once, if it runs.
func (p *relay) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		p.wait()
	}
}

// wait waits for its end and returns how it ended.
func (p *relay) wait() error {
	<-p.read
	return p.cmd.Wait()
}

// check fails if it told a key, or broke, or wrote what isn't its log.
func (p *relay) check(t *testing.T) {
	t.Helper()
	if log := p.said(); strings.Contains(log, "CANARY") || strings.Contains(log, "BUG") || strings.Contains(log, "panic") {
		t.Errorf("a relay's log:\n%s", log)
	}
	for line := range strings.Lines(p.said()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a relay wrote beside its log: %s", line)
		}
	}
}

func (p *relay) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// storeState is what a relay says of its store.
type storeState struct {
	Replicas int
	Away     string
	Alone    bool
}

// store asks for it; nil while there is no answer.
func (p *relay) store() *storeState {
	if s := p.state(); s != nil {
		return s.Store
	}
	return nil
}

// relayState is what a relay says of itself.
type relayState struct {
	Queued   int
	InFlight int `json:"in_flight"`
	Store    *storeState
}

// state asks for it; nil while there is no answer.
func (p *relay) state() *relayState {
	c := http.Client{Timeout: 5 * time.Second}
	resp, err := c.Get(p.admin + "/api/v1/state")
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var s relayState
	if json.NewDecoder(resp.Body).Decode(&s) != nil {
		return nil
	}
	return &s
}

// startRedis runs a server that ends with the test. Where there is none the
// test is skipped; RIFTRELAY_REQUIRE=all makes that a failure.
func startRedis(t *testing.T, args ...string) *redisserver.Server {
	t.Helper()
	bin, err := redisserver.Find()
	if err != nil && os.Getenv("RIFTRELAY_REQUIRE") == "all" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	s, err := redisserver.New(bin, t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func signalRedis(t *testing.T, s *redisserver.Server, sig syscall.Signal) {
	t.Helper()
	if err := s.Process().Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// accepted counts what Riot has accepted from one moment to another.
func (r *rig) accepted(from, to time.Time) (n int) {
	for _, a := range r.edge.Arrivals() {
		if a.Accepted && !a.Time.Before(from) && a.Time.Before(to) {
			n++
		}
	}
	return n
}

// rate is that in a second.
func (r *rig) rate(from, to time.Time) float64 {
	return float64(r.accepted(from, to)) / to.Sub(from).Seconds()
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within 30 s", what)
		}
	}
}

// measured prints a figure for docs/replicas.md.
func measured(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Logf("measured: "+format, args...)
}

// losses counts how often relays have lost the store.
func (r *rig) losses() (n int) {
	for _, p := range r.relays {
		n += strings.Count(p.said(), "the store can't be reached")
	}
	return n
}

// tell shows what the relays say of themselves, for a test that fails.
func (r *rig) tell() {
	r.t.Helper()
	for i, p := range r.relays {
		state := ""
		if resp, err := http.Get(p.admin + "/api/v1/state"); err == nil {
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			state = string(b)
		}
		log := strings.Split(strings.TrimSpace(p.said()), "\n")
		r.t.Logf("relay %d: %s\n%s", i, state, strings.Join(log[max(0, len(log)-12):], "\n"))
	}
}
