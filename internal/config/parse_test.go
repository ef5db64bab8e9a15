package config

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riftrelay"
	"riftrelay/route"
)

func TestOrderOfSources(t *testing.T) {
	const file = "relay.yaml"
	type sources struct{ flag, env, dotenv, file string }
	tests := []struct {
		name   string
		give   sources
		want   int
		source string
	}{
		{"default", sources{}, 2048, "by default"},
		{"file", sources{file: "4"}, 4, "in relay.yaml"},
		{".env over file", sources{dotenv: "3", file: "4"}, 3, "in .env"},
		{"environment over .env and file", sources{env: "2", dotenv: "3", file: "4"}, 2, "in the environment"},
		{"flag over all", sources{flag: "1", env: "2", dotenv: "3", file: "4"}, 1, "on the command line"},
		{"flag over environment", sources{flag: "1", env: "2"}, 1, "on the command line"},
		{"empty environment is not set", sources{env: " ", dotenv: "3"}, 3, "in .env"},
		{"empty everywhere", sources{env: "", dotenv: "''", file: "''"}, 2048, "by default"},
		{"zero is a value", sources{env: "0", dotenv: "3"}, 0, "in the environment"},
	}
	before := os.Environ()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := world{
				env:   map[string]string{"RIOT_TOKEN": "RGAPI-x", "CONFIG_FILE": file, "QUEUE_CAPACITY": tt.give.env},
				files: map[string]string{".env": "QUEUE_CAPACITY=" + tt.give.dotenv + "\n", file: "queue_capacity: " + tt.give.file + "\n"},
			}
			var args []string
			if tt.give.flag != "" {
				args = []string{"--queue-capacity", tt.give.flag}
			}
			s := mustParse(t, w, args...).Settings
			if s.QueueCapacity != tt.want {
				t.Errorf("QueueCapacity = %d, want %d", s.QueueCapacity, tt.want)
			}
			for _, e := range s.Effective() {
				if e.Name == "QUEUE_CAPACITY" && e.Source != tt.source {
					t.Errorf("Source = %q, want %q", e.Source, tt.source)
				}
			}
		})
	}
	if !slices.Equal(before, os.Environ()) {
		t.Error("Parse changed the environment of the process")
	}
}

func TestConfigFileFromEverySource(t *testing.T) {
	files := map[string]string{".env": "CONFIG_FILE=a.yaml", "a.yaml": "riot_token: x\nport: 1", "b.yaml": "RIOT_TOKEN: x\nPORT: 2", "c.yaml": "riot_token: x\nport: 3"}
	tests := []struct {
		env  string
		args []string
		want string
	}{
		{"", nil, "localhost:1"},
		{"b.yaml", nil, "localhost:2"},
		{"b.yaml", []string{"serve", "--config-file=c.yaml"}, "localhost:3"},
	}
	for _, tt := range tests {
		w := world{env: map[string]string{"CONFIG_FILE": tt.env}, files: files}
		if got := mustParse(t, w, tt.args...).Settings.Listen; got != tt.want {
			t.Errorf("CONFIG_FILE=%s %q: Listen = %q, want %q", tt.env, tt.args, got, tt.want)
		}
	}
}

func TestAliases(t *testing.T) {
	tests := []struct {
		name        string
		env, dotenv string
		want        string
		warn        string
	}{
		{"API_KEY", "API_KEY=a", "", "a", ""},
		{"RIOT_API_KEY", "", "RIOT_API_KEY=b", "b", ""},
		{"name before alias in one place", "API_KEY=a RIOT_API_KEY=b RIOT_TOKEN=c", "", "c", ""},
		{"place before name, said aloud", "API_KEY=a", "RIOT_TOKEN=c", "a", "API_KEY in the environment goes before RIOT_TOKEN in .env"},
		{"the same key twice needs no warning", "API_KEY=a", "RIOT_TOKEN=a", "a", ""},
		{"name in the stronger place", "RIOT_TOKEN=c", "API_KEY=a", "c", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := world{env: map[string]string{"UPSTREAM_URL": "http://127.0.0.1:9000"}, files: map[string]string{".env": tt.dotenv}}
			for _, pair := range strings.Fields(tt.env) {
				name, text, _ := strings.Cut(pair, "=")
				w.env[name] = text
			}
			in := mustParse(t, w)
			if got := in.Settings.Keys()[0].Value; got != tt.want {
				t.Errorf("key = %q, want %q", got, tt.want)
			}
			if got := strings.Join(in.Warnings, "\n"); got != tt.warn {
				t.Errorf("warnings = %q, want %q", got, tt.warn)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	s := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}}).Settings
	got := *s
	if got.Table == nil {
		t.Error("no Table")
	}
	if diff := cmp.Diff([]riftrelay.Key{{Name: "key0", Value: "RGAPI-x"}}, got.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	got.Table, got.effective, got.keys, got.reload, got.adminToken, got.certificate = nil, nil, nil, nil, nil, nil
	want := Settings{
		Listen:           "localhost:8985",
		Admin:            "127.0.0.1:8986",
		Hosts:            []string{},
		TunnelHosts:      []string{"ddragon.leagueoflegends.com", "static.developer.riotgames.com", "dd.b.pvp.net"},
		QueueCapacity:    2048,
		QueueTotal:       100_000,
		AdmissionTimeout: 5 * time.Minute,
		Margin:           150 * time.Millisecond,
		MaxMargin:        2 * time.Second,
		DefaultAppLimit:  "20:1,100:120",
		UpstreamURL:      "https://{host}.api.riotgames.com",
		UpstreamHTTP2:    true,
		ViolationLimit:   3, MaxBody: 1 << 20, StoreLoss: "share", UpstreamTimeout: 90 * time.Second,
		ShutdownTimeout: 20 * time.Second,
		EnableMetrics:   true,
		EnableSwagger:   true, MetricsEndpoints: true,
		LogLevel:  slog.LevelInfo,
		LogFormat: "auto",
	}
	// Compared as another type, because Settings hides what it has.
	type plain Settings
	if diff := cmp.Diff(plain(want), plain(got), cmp.AllowUnexported(plain{}), cmp.Comparer(func(a, b *route.Table) bool { return a == b })); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestCommands(t *testing.T) {
	bare := world{}
	if in := mustParse(t, bare, "demo", "--for", "30s", "--pacing=burst", "--seed=7", "--rate-limit=500:10", "--replicas=3"); in.Command != Demo ||
		in.Demo != (DemoOptions{For: 30 * time.Second, RateLimit: "500:10", Pacing: riftrelay.PacingBurst, Replicas: 3, Seed: 7}) {
		t.Errorf("demo: %+v", in)
	}
	if in := mustParse(t, world{env: map[string]string{"PACING": "nonsense"}}, "demo"); in.Demo.Pacing != 0 || in.Settings.LogFormat != "auto" || in.Settings.Admin == "" {
		t.Errorf("demo reads the environment or lacks defaults: %+v", in)
	}
	in := mustParse(t, bare, "sim", "--window=ALIGNED", "--key", "a, b", "--delay=200ms", "--jitter=1")
	want := SimOptions{Addr: "127.0.0.1:9000", AppLimit: "20:1,100:120", Window: "aligned", Delay: 200 * time.Millisecond, Jitter: time.Second, Keys: []string{"a", "b"}}
	if diff := cmp.Diff(want, in.Sim); in.Command != Sim || diff != "" {
		t.Errorf("sim (-want +got):\n%s", diff)
	}
	for _, args := range [][]string{{"--version"}, {"version"}, {"serve", "--version"}} {
		if in := mustParse(t, bare, args...); in.Command != Version || !strings.HasPrefix(in.Text, "riftrelay "+BuildVersion()) {
			t.Errorf("%q: %s %q", args, in.Command, in.Text)
		}
	}
	for _, args := range [][]string{{"-h"}, {"help"}, {"--help", "--port=nonsense"}, {"serve", "-h"}} {
		if in := mustParse(t, bare, args...); in.Command != Help || !strings.Contains(in.Text, "QUEUE_TOTAL") {
			t.Errorf("%q: %s %q", args, in.Command, in.Text)
		}
	}
	if in := mustParse(t, bare, "help", "sim"); !strings.Contains(in.Text, "--jitter") {
		t.Errorf("help sim: %q", in.Text)
	}
}

func TestHealthcheckNeedsOnlyTheAddress(t *testing.T) {
	tests := []struct{ listen, port, want string }{
		{"", "", "http://127.0.0.1:8985/healthz"},
		{"*", "9000", "http://127.0.0.1:9000/healthz"},
		{"localhost", "", "http://127.0.0.1:8985/healthz"},
		{"0.0.0.0", "9000", "http://127.0.0.1:9000/healthz"},
		{"[::]:7", "9000", "http://[::1]:7/healthz"},
		{"::1", "", "http://[::1]:8985/healthz"},
		{"relay.lan:80", "", "http://relay.lan:80/healthz"},
	}
	for _, tt := range tests {
		w := world{
			env:   map[string]string{"LISTEN_ADDR": tt.listen, "PORT": tt.port, "PACING": "nonsense", "CONFIG_FILE": "f"},
			files: map[string]string{"f": "new_setting: 1"},
		}
		if got := mustParse(t, w, "healthcheck").Settings.HealthURL(); got != tt.want {
			t.Errorf("LISTEN_ADDR=%q PORT=%q: %s, want %s", tt.listen, tt.port, got, tt.want)
		}
	}
}

func TestSwitches(t *testing.T) {
	tests := []struct {
		args []string
		want bool
	}{
		{nil, false},
		{[]string{"--enable-pprof"}, true},
		{[]string{"--enable-pprof", "--port=1"}, true},
		{[]string{"--enable-pprof=Yes"}, true},
		{[]string{"--enable-pprof=off"}, false},
	}
	for _, tt := range tests {
		w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}}
		if got := mustParse(t, w, tt.args...).Settings.EnablePprof; got != tt.want {
			t.Errorf("%q: %v, want %v", tt.args, got, tt.want)
		}
	}
}

func TestListenersOnAnyFreePortAreTwo(t *testing.T) {
	w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x", "PORT": "0", "ADMIN_ADDR": ":0"}}
	if s := mustParse(t, w).Settings; s.Listen != "localhost:0" || s.Admin != ":0" {
		t.Errorf("Listen %q, Admin %q", s.Listen, s.Admin)
	}
}

// Editors on Windows begin a file with a byte order mark, and end lines with two characters.
func TestDotEnvFromWindows(t *testing.T) {
	w := world{files: map[string]string{".env": "\ufeffRIOT_TOKEN=x\r\nPORT=9000\r\n"}}
	if s := mustParse(t, w).Settings; s.Keys()[0].Value != "x" || s.Listen != "localhost:9000" {
		t.Errorf("got %v", s)
	}
}
