package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/internal/conns"
	"riftrelay/riotsim"
)

// canary is a key that must show up nowhere but at the edge.
const canary = "RGAPI-" + "CANARY-0000-1111-2222-333344445555"

const status = "/euw1/lol/status/v4/platform-data"

// world is an environment without this machine's variables and files.
func world(vars map[string]string) config.Env {
	return config.Env{
		Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Names:  func() []string { return slices.Collect(maps.Keys(vars)) },
		ReadFile: func(name string) ([]byte, error) {
			return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
		},
	}
}

// rig is a relay in front of a simulated edge, both on loopback.
type rig struct {
	*relay
	edge         *riotsim.Edge
	front, admin string // base URLs
	signals      chan os.Signal
	log          *buffer
	done         chan error // what serve returned
	client       *http.Client
}

func startRig(t testing.TB, sim riotsim.Config, vars map[string]string) *rig {
	t.Helper()
	return startRigIn(t, sim, vars, nil, nil)
}

// startRigIn is startRig with a channel that has the keys read again, and with
// files.
func startRigIn(t testing.TB, sim riotsim.Config, vars map[string]string, hangup <-chan os.Signal, readFile func(string) ([]byte, error)) *rig {
	t.Helper()
	edge, upstream := startEdge(t, sim)
	g := &rig{
		edge: edge, signals: make(chan os.Signal, 2), log: &buffer{}, done: make(chan error, 1),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: 20 * time.Second},
	}
	all := map[string]string{
		"RIOT_TOKEN": "main=" + canary, "UPSTREAM_URL": upstream, "LISTEN_ADDR": "127.0.0.1:0", "ADMIN_ADDR": "127.0.0.1:0",
		"PACING": "burst", "LOG_LEVEL": "debug", "ADDITIONAL_WINDOW_SIZE": "20ms",
	}
	for name, v := range vars {
		all[name] = v
	}
	w := world(all)
	if readFile != nil {
		w.ReadFile = readFile
	} else if all["RIOT_TOKEN_FILE"] != "" {
		none := w.ReadFile
		w.ReadFile = func(name string) ([]byte, error) {
			if name == all["RIOT_TOKEN_FILE"] {
				return os.ReadFile(name)
			}
			return none(name)
		}
	}
	in, err := config.Parse(nil, w)
	if err != nil {
		t.Fatal(err)
	}
	if g.relay, err = assemble(in.Settings, newLogger(g.log, in.Settings, true), riftrelay.Hooks{}, nil); err != nil {
		t.Fatal(err)
	}
	g.relay.hangup = hangup
	if err := g.listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.front = "http://" + g.relay.front.listener.Addr().String()
	g.admin = "http://" + g.relay.admin.listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { g.done <- g.serve(ctx, g.signals) }()
	t.Cleanup(func() {
		cancel()
		g.client.CloseIdleConnections()
		select {
		case <-g.done:
		case <-time.After(10 * time.Second):
			t.Error("the relay doesn't stop")
		}
	})
	return g
}

func startEdge(t testing.TB, sim riotsim.Config) (edge *riotsim.Edge, url string) {
	t.Helper()
	edge, err := riotsim.New(sim)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := edge.Serve(l); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { edge.Close(); <-served })
	return edge, "http://" + l.Addr().String()
}

// stopped returns what serve returned, and puts it back for the cleanup.
func (g *rig) stopped(t *testing.T) error {
	t.Helper()
	select {
	case err := <-g.done:
		g.done <- err
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("the relay doesn't stop")
		return nil
	}
}

// answer is a response, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
	at     time.Time
}

func (g *rig) get(url string) answer {
	resp, err := g.client.Get(url)
	if err != nil {
		return answer{err: err, at: time.Now()}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body), err, time.Now()}
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// eventually waits for what happens soon on real sockets.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

func TestCallsPassAndKeysDont(t *testing.T) {
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, Requests: -1},
		map[string]string{"METRICS_ON_RELAY": "true", "ENABLE_PPROF": "true"})

	a := g.get(g.front + status + "?x=%2F&api_key=mine")
	if a.status != 200 || a.header.Get("X-RiftRelay-Source") != "riot" || a.header.Get("X-RiftRelay-Key") != "main" {
		t.Errorf("got %+v", a)
	}
	if seen := g.edge.Requests(); len(seen) != 1 || seen[0].Header.Get("X-Riot-Token") != canary ||
		seen[0].URI != "/lol/status/v4/platform-data?x=%2F" || seen[0].Host != "euw1.api.riotgames.com" {
		t.Errorf("the edge saw %+v", seen)
	}
	refused := g.get(g.front + "/euw1/lol/nothing/v4/here")
	if refused.status != 404 || refused.header.Get("X-RiftRelay-Source") != "relay" || refused.header.Get("X-RiftRelay-Reason") != "invalid_route" {
		t.Errorf("got %+v", refused)
	}
	public := []string{a.body, refused.body}

	for _, base := range []string{g.front, g.admin} {
		for path, want := range map[string]string{
			"/readyz": `{"ready":true,"reasons":[]}`, "/": "RiftRelay",
			"/metrics": `riftrelay_limit{endpoint="",key="main",region="euw1",scope="application",window="10"} 500`,
		} {
			a := g.get(base + path)
			public = append(public, a.body)
			if a.status != 200 || !strings.Contains(a.body, want) {
				t.Errorf("%s: %d without %s:\n%s", path, a.status, want, a.body)
			}
		}
	}
	scrape := g.get(g.admin + "/metrics").body
	for _, series := range []string{ // the names that those who come from the seed know
		"riftrelay_http_requests_total{", "riftrelay_http_inflight{", `riftrelay_admission_total{budget_id="default",endpoint="lol/status/v4/platform-data",outcome="allowed",priority="normal",region="euw1"} 1`,
		`riftrelay_admission_total{budget_id="default",endpoint="",outcome="rejected_invalid_route",priority="normal",region=""} 1`, "riftrelay_queue_wait_seconds_bucket{",
		"riftrelay_request_duration_seconds_bucket{", "riftrelay_upstream_responses_total{", "riftrelay_upstream_duration_seconds_bucket{",
	} {
		if !strings.Contains(scrape, series) {
			t.Errorf("metrics lack %s", series)
		}
	}
	if a := g.get(g.admin + "/debug/pprof/symbol"); a.status != 200 {
		t.Errorf("pprof: %+v", a)
	}
	if a := g.get(g.admin + "/debug/pprof/cmdline"); a.status == 200 {
		t.Error("pprof shows the command line")
	}
	if a := g.get(g.front + "/debug/pprof/symbol"); a.status == 200 {
		t.Error("profiles on the relay's port")
	}
	g.signals <- syscall.SIGTERM
	if err := g.stopped(t); err != nil {
		t.Error(err)
	}
	for _, text := range append(public, g.log.String()) {
		if strings.Contains(text, "CANARY") {
			t.Errorf("shows a key:\n%s", text)
		}
	}
	for _, want := range []string{"riftrelay serves", `"names":"main"`, `"msg":"call"`, `"msg":"stopped"`} {
		if !strings.Contains(g.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, g.log.String())
		}
	}
	if strings.Contains(g.log.String(), "trusted network") {
		t.Error("warns on loopback")
	}
}

func TestWhatIsOffIsOff(t *testing.T) {
	g := startRig(t, riotsim.Config{}, map[string]string{"ENABLE_METRICS": "false"})
	for _, url := range []string{g.admin + "/metrics", g.front + "/metrics", g.admin + "/debug/pprof/", g.admin + "/nothing"} {
		if a := g.get(url); a.status != 404 {
			t.Errorf("%s: %d", url, a.status)
		}
	}
	req, err := http.NewRequest(http.MethodPost, g.front+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /readyz: %d", resp.StatusCode)
	}
}

func TestPanicIsContained(t *testing.T) {
	log := &buffer{}
	s := newServer("TEST", "", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("with " + canary)
		}
	}), conns.Limits{Total: 100}, newLogger(log, &config.Settings{LogFormat: "json"}, true))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.http.Serve(l)
	defer s.http.Close()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if _, err := client.Get("http://" + l.Addr().String() + "/panic"); err == nil {
		t.Error("a panic makes no answer")
	}
	resp, err := client.Get("http://" + l.Addr().String() + "/")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	eventually(t, "the panic in the log", func() bool { return strings.Contains(log.String(), "handler panicked") })
	if strings.Contains(log.String(), "CANARY") || !strings.Contains(log.String(), `"level":"ERROR"`) {
		t.Errorf("log: %s", log)
	}
	if n := s.calls.Load(); n != 0 {
		t.Errorf("%d calls left", n)
	}
}

func TestReadyNeedsAKey(t *testing.T) {
	for _, c := range []struct {
		keys     []riftrelay.KeyState
		draining bool
		status   int
		body     string
	}{
		{[]riftrelay.KeyState{{Usable: true}}, false, 200, `{"ready":true,"reasons":[]}`},
		{[]riftrelay.KeyState{{Name: "a", State: riftrelay.KeySuspect}, {Usable: true}}, false, 200, `{"ready":true,"reasons":[],"warnings":["key a is suspect"]}`},
		{[]riftrelay.KeyState{{Usable: false}}, false, 503, `{"ready":false,"reasons":["no usable key"]}`},
		{nil, true, 503, `{"ready":false,"reasons":["draining","no usable key"]}`},
	} {
		h := &health{state: func() riftrelay.Snapshot { return riftrelay.Snapshot{Keys: c.keys} }, exposed: func() string { return "" }}
		h.draining.Store(c.draining)
		w := record(h.ready)
		if w.status != c.status || strings.TrimSpace(w.body) != c.body {
			t.Errorf("%+v: got %d %s", c, w.status, w.body)
		}
	}
}

// record calls a handler.
func record(h http.HandlerFunc) answer {
	w := &recorder{header: http.Header{}}
	h(w, &http.Request{Method: http.MethodGet})
	return answer{status: w.status, header: w.header, body: w.b.String()}
}

type recorder struct {
	header http.Header
	status int
	b      bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.b.Write(p) }

// A stop under load: calls under way end, those that fit the grace are served,
// the rest is refused at once, and it all ends in time.
func TestDrain(t *testing.T) {
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: "5:1"}, Body: riotsim.Tiny, Latency: riotsim.Latency{Down: 100 * time.Millisecond}},
		map[string]string{"SHUTDOWN_TIMEOUT": "2s"})
	if a := g.get(g.front + status); a.status != 200 { // which teaches the limit
		t.Fatal(a)
	}
	const calls = 40
	answers := make(chan answer, calls)
	for range calls {
		go func() { answers <- g.get(g.front + status) }()
	}
	eventually(t, "a queue", func() bool { s := g.limiter.Snapshot(); return s.Queued+s.InFlight+len(answers) >= calls })
	begin := time.Now()
	g.signals <- syscall.SIGTERM
	eventually(t, "unreadiness", func() bool { return g.get(g.admin+"/readyz").status == 503 })
	if a := g.get(g.front + "/readyz"); a.body != `{"ready":false,"reasons":["draining"]}`+"\n" {
		t.Errorf("readyz on the relay's port: %+v", a)
	}
	if a := g.get(g.front + status); a.status != 503 || a.header.Get("X-RiftRelay-Reason") != "shutting_down" {
		t.Errorf("a new call: %+v", a)
	}
	served, refused := 0, 0
	for range calls {
		a := <-answers
		switch {
		case a.status == 200:
			served++
		case a.status == 503 && a.header.Get("X-RiftRelay-Reason") == "shutting_down" && a.at.Sub(begin) < 500*time.Millisecond:
			refused++
		default:
			t.Errorf("after %v: %+v", a.at.Sub(begin), a)
		}
	}
	if err := g.stopped(t); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 2500*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if served < 5 || refused < 20 {
		t.Errorf("%d served, %d refused", served, refused)
	}
	if n := g.edge.Report().Violations; n != 0 {
		t.Errorf("%d own 429s", n)
	}
}

// Drain can only go by the limits that are known. What turns out not to fit is
// refused when the grace is over, not cut off.
func TestDrainBeforeTheFirstAnswer(t *testing.T) {
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: "2:10"}, Latency: riotsim.Latency{Down: 200 * time.Millisecond}},
		map[string]string{"SHUTDOWN_TIMEOUT": "800ms"})
	const calls = 10
	answers := make(chan answer, calls)
	for range calls {
		go func() { answers <- g.get(g.front + status) }()
	}
	eventually(t, "a queue", func() bool { s := g.limiter.Snapshot(); return s.Queued+s.InFlight >= calls })
	g.signals <- syscall.SIGTERM
	if err := g.stopped(t); err != nil {
		t.Error(err)
	}
	statuses := map[int]int{}
	for range calls {
		statuses[(<-answers).status]++
	}
	if statuses[200] != 2 || statuses[503] != calls-2 {
		t.Errorf("statuses %v", statuses)
	}
}

func TestStopCutsWhatTakesTooLong(t *testing.T) {
	g := startRig(t, riotsim.Config{Faults: []riotsim.Fault{{Hang: time.Minute}}}, map[string]string{"SHUTDOWN_TIMEOUT": "100ms"})
	ended := make(chan answer, 1)
	go func() { ended <- g.get(g.front + status) }()
	eventually(t, "the call", func() bool { return g.edge.Report().Arrived == 1 })
	begin := time.Now()
	g.signals <- syscall.SIGTERM
	err := g.stopped(t)
	if err == nil || !strings.Contains(err.Error(), "SHUTDOWN_TIMEOUT: 1 calls were cut") || time.Since(begin) > 3*time.Second {
		t.Errorf("got %v after %v", err, time.Since(begin))
	}
	if a := <-ended; a.err == nil {
		t.Errorf("got %+v", a)
	}
}

func TestSecondSignalEndsItNow(t *testing.T) {
	g := startRig(t, riotsim.Config{Faults: []riotsim.Fault{{Hang: time.Minute}}}, map[string]string{"SHUTDOWN_TIMEOUT": "1m"})
	ended := make(chan answer, 1)
	go func() { ended <- g.get(g.front + status) }()
	eventually(t, "the call", func() bool { return g.edge.Report().Arrived == 1 })
	begin := time.Now()
	g.signals <- os.Interrupt
	g.signals <- os.Interrupt
	if err := g.stopped(t); !errors.Is(err, errInsisted) || time.Since(begin) > 2*time.Second {
		t.Errorf("got %v after %v", err, time.Since(begin))
	}
	<-ended
}

func TestFailingListenerStopsAll(t *testing.T) {
	g := startRig(t, riotsim.Config{}, nil)
	eventually(t, "the start", func() bool { return g.get(g.front+"/healthz").status == 204 })
	g.relay.admin.listener.Close()
	if err := g.stopped(t); err == nil || !strings.Contains(err.Error(), "ADMIN_ADDR") {
		t.Errorf("got %v", err)
	}
	if a := g.get(g.front + "/healthz"); a.err == nil {
		t.Error("still serves")
	}
}

func TestPortInUseNamesTheSetting(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, name := range []string{"LISTEN_ADDR", "ADMIN_ADDR"} {
		vars := map[string]string{"RIOT_TOKEN": canary, "LISTEN_ADDR": "127.0.0.1:0", "ADMIN_ADDR": "127.0.0.1:0"}
		vars[name] = taken.Addr().String()
		var stdout, stderr buffer
		code := Main(t.Context(), Process{Env: world(vars), Stdout: &stdout, Stderr: &stderr})
		if code != exitFailed || !strings.Contains(stderr.String(), name) || !strings.Contains(stderr.String(), taken.Addr().String()) {
			t.Errorf("%s: status %d, %s", name, code, &stderr)
		}
	}
}

func TestLogs(t *testing.T) {
	other := strings.Repeat("s3cret", 4) // a key without Riot's prefix
	in, err := config.Parse(nil, world(map[string]string{"RIOT_TOKEN": other, "LOG_FORMAT": "text", "LOG_LEVEL": "warn"}))
	if err != nil {
		t.Fatal(err)
	}
	var text buffer
	log := newLogger(&text, in.Settings, true)
	log.Info("not this")
	log.Warn("this", "key", canary, "error", errors.New("got "+strings.ToLower(canary)), "other", other)
	line := text.String()
	if strings.Count(line, "(hidden key)") != 3 || strings.Contains(line, "\x1b") || strings.Contains(line, "not this") || !strings.Contains(line, "WRN") {
		t.Errorf("text: %q", line)
	}
}

func TestHealthcheck(t *testing.T) {
	g := startRig(t, riotsim.Config{}, nil)
	host, port, _ := net.SplitHostPort(strings.TrimPrefix(g.front, "http://"))
	for _, c := range []struct {
		port string
		code int
		says string
	}{{port, exitOK, "healthy: "}, {"1", exitFailed, "unhealthy: http://127.0.0.1:1/healthz: "}} {
		var stdout, stderr buffer
		p := Process{
			Args: []string{"healthcheck"}, Env: world(map[string]string{"LISTEN_ADDR": host, "PORT": c.port}), Stdout: &stdout, Stderr: &stderr,
		}
		code := Main(t.Context(), p)
		lines := slices.Collect(strings.Lines(stdout.String() + stderr.String()))
		if code != c.code || len(lines) != 1 || !strings.Contains(lines[0], c.says) {
			t.Errorf("status %d: %q", code, lines)
		}
	}
}
