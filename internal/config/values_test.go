package config

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"riftrelay"
)

func TestValues(t *testing.T) {
	tests := []struct {
		setting string
		good    map[string]string // text → what it becomes
		bad     []string
	}{
		{"PORT", map[string]string{"0": "localhost:0", "65535": "localhost:65535"}, []string{"65536", "-1", "1.0", "0x10", "http", "1e3"}},
		{"LISTEN_ADDR", map[string]string{"0.0.0.0": "0.0.0.0:8985", "::1": "[::1]:8985", "[::1]": "[::1]:8985", ":80": ":80", "[fe80::1%eth0]:1": "[fe80::1%eth0]:1", "relay.lan": "relay.lan:8985",
			"localhost": "localhost:8985", "*": ":8985", "*:80": ":80"},
			[]string{"a b", "host:port", "1:2:3", "[::1", "[relay]", "http://a", "host:-1", "host:+1", "host:", "a/b", ":99999", "**", "*.lan", "[*]", ""}},
		{"ADMIN_ADDR", map[string]string{"off": "", "OFF": "", "": "", ":8986": ":8986", "*:8986": ":8986", "[::1]:0": "[::1]:0"}, []string{"127.0.0.1", "8986", "none"}},
		{"PACING", map[string]string{"balanced": "balanced", "spread": "spread", "Burst": "burst", "0.25": "0.25", "1": "burst", "0": "spread"}, []string{"-0.1", "1.01", "NaN", "Inf", "half", "25%"}},
		{"ADMISSION_TIMEOUT", map[string]string{"0": "0s", "90": "1m30s", "1m30s": "1m30s", "1.5s": "1.5s"}, []string{"-1", "-1s", "1 s", "5 minutes", "999999999999999999", "1h90"}},
		{"MARGIN", map[string]string{"150ms": "150ms", "1": "1s"}, []string{"-1s", "x"}},
		{"ENABLE_PPROF", map[string]string{"YES": "true", "on": "true", "1": "true", "True": "true", "no": "false", "Off": "false", "0": "false"}, []string{"2", "enabled", "ja"}},
		{"QUEUE_CAPACITY", map[string]string{"0": "0", "5000": "5000"}, []string{"-1", "100,000", "10k"}},
		{"DEFAULT_APP_RATE_LIMIT", map[string]string{"20:1,100:120": "20:1,100:120", "500:10": "500:10"}, []string{"20", "20/1", "0:1", "20:0", "a:b"}},
		{"UNKNOWN_HOSTS", map[string]string{"forward": "true", "Refuse": "false"}, []string{"allow", "true"}},
		{"LOG_LEVEL", map[string]string{"debug": "DEBUG", "WARN": "WARN"}, []string{"trace", "info+1", "loud"}},
		{"UPSTREAM_URL", map[string]string{"http://127.0.0.1:9000/": "http://127.0.0.1:9000", "https://{host}.example.org": "https://{host}.example.org", "http://[::1]:9000": "http://[::1]:9000"},
			[]string{"ftp://a", "api.riotgames.com", "https://", "https://:80", "http://a/b", "http://a?b", "http://a#b", "http://u@a", "http://a:b", "http://a:99999", "http://a:", "http://{region}.a", "http:a"}},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", map[string]string{"http://127.0.0.1:4318/": "http://127.0.0.1:4318", "https://otel.example.org/tenant": "https://otel.example.org/tenant"},
			[]string{"127.0.0.1:4318", "grpc://a:4317", "http://a?b", "http://u:p@a", "http://a#b", "http://"}},
		{"RATE_HEADERS", map[string]string{"pass": "false", "Strip": "true"}, []string{"drop", "true"}},
		{"TUNNEL_HOSTS", map[string]string{
			"off": "[]", "b.example.org, A.example.org": "[a.example.org b.example.org]",
			"+raw.communitydragon.org": "[dd.b.pvp.net ddragon.leagueoflegends.com raw.communitydragon.org static.developer.riotgames.com]",
		}, []string{
			"localhost", "127.0.0.1", "::1", "a.example.org:443", "*.example.org", "a..b", ".org", "a.example.org.", "u@a.example.org", "a。org", "0x7f.1",
			"euw1.api.riotgames.com", "api.riotgames.com", "+", "a.org,,b.org", "-a.org", "https://a.org",
		}},
		{"UPSTREAM_PROXY", map[string]string{"http://proxy:3128": "http://proxy:3128", "socks5://u:p@[::1]:1": "socks5://u:p@[::1]:1"}, []string{"proxy:3128", "ftp://a", "http://a/b", "3128"}},
	}
	for _, tt := range tests {
		for text, want := range tt.good {
			w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}}
			s := mustParse(t, w, flagFor(tt.setting)+"="+text).Settings
			got := map[string]any{
				"PORT": s.Listen, "LISTEN_ADDR": s.Listen, "ADMIN_ADDR": s.Admin, "PACING": s.Pacing, "ADMISSION_TIMEOUT": s.AdmissionTimeout,
				"MARGIN": s.Margin, "ENABLE_PPROF": s.EnablePprof, "QUEUE_CAPACITY": s.QueueCapacity, "DEFAULT_APP_RATE_LIMIT": s.DefaultAppLimit,
				"UNKNOWN_HOSTS": s.ForwardUnknownHosts, "LOG_LEVEL": s.LogLevel, "UPSTREAM_URL": s.UpstreamURL, "UPSTREAM_PROXY": s.UpstreamProxy, "OTEL_EXPORTER_OTLP_ENDPOINT": s.TraceEndpoint,
				"RATE_HEADERS": s.StripRateHeaders, "TUNNEL_HOSTS": s.TunnelHosts,
			}[tt.setting]
			if fmt.Sprint(got) != want {
				t.Errorf("%s=%s: %v, want %s", tt.setting, text, got, want)
			}
		}
		for _, text := range tt.bad {
			w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}}
			lines := parseError(t, w, flagFor(tt.setting)+"="+text)
			if len(lines) != 1 || !strings.HasPrefix(lines[0], tt.setting+" is ") || !strings.Contains(lines[0], "; allowed: ") {
				t.Errorf("%s=%s: %q", tt.setting, text, lines)
			}
		}
	}
}

func flagFor(name string) string { return setting{name: name}.flag() }

func TestEmptyAdminAddrInTheEnvironmentIsNone(t *testing.T) {
	w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x", "ADMIN_ADDR": ""}}
	if got := mustParse(t, w).Settings.Admin; got != "" {
		t.Errorf("Admin = %q, want none", got)
	}
}

func TestYAMLValuesAreTakenAsWritten(t *testing.T) {
	w := world{env: map[string]string{"CONFIG_FILE": "f"}, files: map[string]string{"f": `# all forms
riot_token: [main=x, "y"]
default_app_rate_limit: 20:1
pacing: 0.10
hosts:
  - euw1
  - na1
enable_pprof: on
log_format:
upstream_timeout: 30
`}}
	s := mustParse(t, w).Settings
	if s.Keys()[0].Name != "main" || s.Keys()[1].Name != "key1" || s.DefaultAppLimit != "20:1" || s.Pacing != riftrelay.PacingShare(0.1) || !s.EnablePprof ||
		s.LogFormat != "auto" || s.UpstreamTimeout != 30*time.Second || fmt.Sprint(s.Table.Hosts()) != "[euw1 na1]" {
		t.Errorf("got %v", s)
	}
}

func TestHostsAndMethods(t *testing.T) {
	w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x", "HOSTS": "+xx1", "UNKNOWN_PATHS": "forward"}}
	table := mustParse(t, w).Settings.Table
	for _, path := range []string{"/lol/status/v4/platform-data", "/not/known"} {
		if _, err := table.Match("GET", "xx1", path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := table.Match("GET", "yy1", "/lol/status/v4/platform-data"); err == nil {
		t.Error("UNKNOWN_HOSTS=refuse forwards yy1")
	}
}

func FuzzValues(f *testing.F) {
	for _, s := range []string{"", "0", "90s", "1e9", "-1", "spread", "NaN", "0x1p-2", "[::1]:80", ":8985", "a=b,c=d", "20:1,100:120", "http://{host}:1/", "+xx1", "yes", "9223372036854775807", "1h1h1h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, d := &Invocation{Settings: &Settings{}}, &draft{}
		for _, c := range commands(in, d) {
			for _, s := range c.settings {
				var r report
				s.fill([]source{{onCommandLine, func(string) (string, bool) { return text, true }, nil}}, &r)
				if r.wrong != nil && len(r.problems) == 0 {
					t.Fatalf("%s: wrong, but not said", s.name)
				}
				for _, p := range r.problems {
					if strings.ContainsAny(p.Error(), "\n\r\x1b") {
						t.Errorf("%s: not one line: %q", s.name, p)
					}
				}
			}
		}
		s := in.Settings
		for _, v := range []time.Duration{s.AdmissionTimeout, s.Margin, s.UpstreamTimeout, s.ShutdownTimeout, in.Demo.For, in.Sim.Delay} {
			if v < 0 || v > longest {
				t.Errorf("duration %v", v)
			}
		}
		if s.Pacing > riftrelay.PacingBurst || d.port < 0 || d.port > 65535 || s.QueueTotal < 0 {
			t.Errorf("out of bounds: %v %v %v", s.Pacing, d.port, s.QueueTotal)
		}
		for _, address := range []string{d.admin, in.Sim.Addr} {
			if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
				t.Errorf("address %q: %v", address, err)
			}
		}
		if u, err := url.Parse(strings.ReplaceAll(s.UpstreamURL, "{host}", "euw1")); err != nil || s.UpstreamURL != "" && u.Host == "" {
			t.Errorf("URL %q: %v", s.UpstreamURL, err)
		}
	})
}

func FuzzFiles(f *testing.F) {
	f.Add("PORT=1\nB='two\nlines'", "port: 1\nhosts: [a, b]")
	f.Add("export A=\"${PORT}\"", "a: &x 1\nb: *x\n<<: {c: d}")
	f.Add("\ufeffA: b", "? [a]\n: |\n  text\n--- \n...")
	f.Fuzz(func(t *testing.T, dotenv, file string) {
		w := world{env: map[string]string{"CONFIG_FILE": "f", "RIOT_TOKEN": "RGAPI-x"}, files: map[string]string{".env": dotenv, "f": file}}
		in, err := Parse(nil, w.Env())
		if (in == nil) == (err == nil) {
			t.Errorf("Parse = %v, %v", in, err)
		}
	})
}
