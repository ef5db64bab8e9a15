package config

import (
	"slices"
	"strings"
	"testing"
)

// everythingWrong has a mistake of each kind in each place.
func everythingWrong() (world, []string) {
	w := world{
		env: map[string]string{
			"RIOT_TOKEN": "main=" + canary() + "1,main=" + canary() + "2,=x," + canary() + "=x,,b=" + canary() + "1,c=sp ace",
			"PORT":       "80a", "QUEUE_TOTAL": "-1", "UPSTREAM_PROXY": "ftp://user:password@proxy", "LOG_LEVEL": "loud",
			"ADDITIONAL_WINDOW_SIZE": "0", "METHODS_FILE": "methods.tsv", "UPSTREAM_CA_FILE": "ca.pem", "CONFIG_FILE": "relay.yaml",
		},
		files: map[string]string{
			".env":        "HOSTS=EUW1\nPACING=1.5\nUPSTREAM_URL=api.riotgames.com\nQUEUE_TOTL=5\n",
			"methods.tsv": "nonsense\n",
			"ca.pem":      "nonsense\n",
			"relay.yaml":  "adm_addr: ':1'\nunknown_path: forward\nwholly_unlike: 1\nenable_metrics: maybe\nlog_format: [json, text]\nport: {a: 1}\nadmission_timeout: 5 minutes\n",
		},
	}
	return w, []string{"--default-app-rate-limit=20/1", "--admin-addr=8986", "--enable-pprof=perhaps", "--shutdown-timeout=-1s", "--unknown-hosts", "allow", "--upstream-timeout", "1h90", "--listen-addr=a b"}
}

func TestAllErrorsAtOnce(t *testing.T) {
	w, args := everythingWrong()
	golden(t, "testdata/errors.txt", strings.Join(parseError(t, w, args...), "\n")+"\n")
}

func TestErrors(t *testing.T) {
	token := map[string]string{"RIOT_TOKEN": "RGAPI-x"}
	tests := []struct {
		name string
		w    world
		args []string
		want string // the one line begins with it
	}{
		{"no key", world{}, nil, "RIOT_TOKEN is not set; allowed: a key from https://developer.riotgames.com, or several (without one, try: riftrelay demo)"},
		{"no key to validate", world{}, []string{"validate"}, "RIOT_TOKEN is not set"},
		{"unknown flag", world{env: token}, []string{"--prot=1"}, `unknown flag --prot, did you mean "--port"?`},
		{"unknown command", world{env: token}, []string{"serv"}, `there is no command "serv"; allowed: serve, demo, sim, validate, status, top, healthcheck, trust, completion`},
		{"flag of another command", world{}, []string{"demo", "--port=1"}, "unknown flag --port"},
		{"flag without value", world{env: token}, []string{"--port"}, "--port: no value; allowed: --port=VALUE"},
		{"argument", world{env: token}, []string{"serve", "x"}, "unexpected argument x"},
		{"a port without its colon", world{env: token}, []string{"--listen-addr=8985"}, `LISTEN_ADDR is "8985"; allowed: host or host:port`},
		{"a margin above its most", world{env: token}, []string{"--margin-max=1s", "--margin=2s"}, `MARGIN_MAX is "1s" (MARGIN is 2s, which is more); allowed: `},
		{"nobody to ask", world{env: map[string]string{"ADMIN_ADDR": "off"}}, []string{"status"}, "ADMIN_ADDR is off, so there is nobody to ask; allowed: --addr"},
		{"nobody to watch", world{env: map[string]string{"ADMIN_ADDR": "off"}}, []string{"top"}, "ADMIN_ADDR is off"},
		{"the listeners' ports are one", world{env: token}, []string{"--port=8986"}, `ADMIN_ADDR is "127.0.0.1:8986" (the relay's own is localhost:8986); allowed: `},
		{"localhost is both loopback addresses", world{env: token}, []string{"--listen-addr=LocalHost:1", "--admin-addr=[::1]:1"}, `ADMIN_ADDR is "[::1]:1" (the relay's own is LocalHost:1); allowed: `},
		{"localhost of both", world{env: token}, []string{"--listen-addr=127.0.0.1:1", "--admin-addr=localhost:1"}, `ADMIN_ADDR is "localhost:1" (the relay's own is 127.0.0.1:1); allowed: `},
		{"option of a command", world{}, []string{"sim", "--window=odd"}, `--window is "odd"; allowed: fixed, sliding or aligned (set on the command line)`},
		{"no CONFIG_FILE, and so maybe no key", world{}, []string{"--config-file=f"}, `CONFIG_FILE is "f": open f: file does not exist; allowed: a readable YAML file`},
		{"CONFIG_FILE is a list", world{files: map[string]string{"f": "- a\n"}}, []string{"--config-file=f"}, `CONFIG_FILE is "f": has no settings`},
		{"CONFIG_FILE names itself", world{env: token, files: map[string]string{"f": "config_file: g"}}, []string{"--config-file=f"}, `CONFIG_FILE is "f": line 1: config_file can't be set in the file itself`},
		{"CONFIG_FILE says it twice", world{env: token, files: map[string]string{"f": "port: 1\nPORT: 2"}}, []string{"--config-file=f"}, `CONFIG_FILE is "f": line 2: PORT is set twice`},
		{"CONFIG_FILE of two documents", world{env: token, files: map[string]string{"f": "port: 1\n---\nport: 2"}}, []string{"--config-file=f"}, `CONFIG_FILE is "f": has several documents`},
		{".env", world{env: token, files: map[string]string{".env": "A=1\nB='two\nlines'\n# c\nwhat is this\nC=1"}}, nil, ".env has a mistake in line 5; allowed: NAME=value lines and # comments"},
		{"a proxy that plain http can't take", world{env: token}, []string{"--upstream-proxy=http://u:CANARY@proxy:3128", "--upstream-url=http://127.0.0.1:9000"},
			`UPSTREAM_PROXY is not shown (UPSTREAM_URL is http://127.0.0.1:9000, plain http, for which no proxy of this kind can be used; socks5:// can); allowed: `},
		{"a short token", world{env: token}, []string{"--admin-token=CANARY"}, "ADMIN_TOKEN is not shown; allowed: 16 to 256 visible ASCII characters (set on the command line)"},
		{"a token with a space", world{env: token}, []string{"--admin-token=two words"}, "ADMIN_TOKEN is not shown; allowed: 16 to 256"},
		{"an empty flag", world{env: token}, []string{"--port", ""}, `PORT is ""; allowed: `},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := parseError(t, tt.w, tt.args...)
			if len(lines) != 1 || !strings.HasPrefix(lines[0], tt.want) {
				t.Errorf("got  %q\nwant one line beginning %q", lines, tt.want)
			}
		})
	}
}

func TestTypingErrorsInDotEnv(t *testing.T) {
	tests := []struct{ name, near string }{
		{"PROT", "PORT"}, {"port", "PORT"}, {"QUEUE_CAPACTIY", "QUEUE_CAPACITY"}, {"RIOT_TOKENS", "RIOT_TOKEN"},
		{"HOST", "HOSTS"}, {"UPSTREAM_HTTP", "UPSTREAM_HTTP2"}, {"API_KEYS", "API_KEY"}, {"LOGLEVEL", "LOG_LEVEL"},
		{"SORT", "PORT"}, {"PART_", ""}, {"DATABASE_URL", ""}, {"UPSTREAM", ""}, {"QUEUE", ""}, {"PORT", ""}, {"GIT_TOKEN", "RIOT_TOKEN"},
		{"RATE_BUDGT_x", "RATE_BUDGET_x"}, {"RATE_BUDGETS_Bot", "RATE_BUDGET_Bot"}, {"rate_budget_a_overrides", "RATE_BUDGET_a_OVERRIDES"}, {"CLIENT_x_BUDGT", "CLIENT_x_BUDGET"},
		{"CLIENTS_a_b_PRIORITY", "CLIENT_a_b_PRIORITY"}, {"client_a_allow", "CLIENT_a_ALLOW"}, {"CLIENT_a_ALOW", "CLIENT_a_ALLOW"}, {"RATE_BUDGT_", ""}, {"RATE_BUDGET", ""},
		{"CLIENT_SECRET", ""}, {"CLIENT_ID_FLOW", ""}, {"CLIENT_BUDGET", ""},
	}
	for _, tt := range tests {
		w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}, files: map[string]string{".env": tt.name + "=1\n"}}
		want := ""
		if tt.near != "" {
			want = tt.name + " in .env is not a setting and was ignored; is " + tt.near + " meant?"
		}
		if got := strings.Join(mustParse(t, w).Warnings, "\n"); got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
}

func TestTypingErrorsAreInOrder(t *testing.T) {
	w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}, files: map[string]string{".env": "PROT=1\nLOGLEVEL=info\nRATE_BUDGT_x=1\nAPI_KEYS=x\nCLIENT_x_BUDGT=y\n"}}
	if said := mustParse(t, w).Warnings; len(said) != 5 || !slices.IsSorted(said) {
		t.Errorf("%q", said)
	}
}

// The environment has other programs' names too: only what is clearly a slip is told.
func TestTypingErrorsInTheEnvironment(t *testing.T) {
	const said = " in the environment is not a setting and was ignored; is "
	for name, near := range map[string]string{
		"QUEUE_CAPACTY": "QUEUE_CAPACITY", "PACNG": "PACING", "LOGLEVEL": "LOG_LEVEL", "log_level": "LOG_LEVEL", "RATE_BUDGET_x": "",
		"RATE_BUDGT_x": "RATE_BUDGET_x", "CLIENT_x_BUDGT": "CLIENT_x_BUDGET", "rate_budget_x": "RATE_BUDGET_x", "CLIENT_SECRET": "", "RATE_LIMIT_x": "",
		"HOST": "", "PORTS": "", "SORT": "", "APP_KEY": "", "API_KEYS": "", "SSL_CERT_FILE": "", "SSL_KEY_FILE": "", "QUEUE": "", "RIOT_API_KEY": "", "RIOT_TOKENS": "",
	} {
		w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x", name: "1"}, files: map[string]string{}}
		if name == "RATE_BUDGET_x" {
			w.env[name] = "0.5"
		}
		want := ""
		if near != "" {
			want = name + said + near + " meant?"
		}
		if got := strings.Join(mustParse(t, w).Warnings, "\n"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	lines := parseError(t, world{env: map[string]string{"RIOT_TOKENS": "RGAPI-x"}})
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "RIOT_TOKEN is not set") || lines[1] != "RIOT_TOKENS"+said+"RIOT_TOKEN meant?" {
		t.Errorf("%q", lines)
	}
}

func TestKeysThatRiotNeverGave(t *testing.T) {
	for give, want := range map[string]string{
		"RGAPI-x": "", "main=RGAPI-x": "", `"RGAPI-x"`: "",
		"RGAPI-x,site='RGAPI-y'": "",
		"hello":                  "key key0 doesn't begin with RGAPI-, as Riot's keys do",
	} {
		w := world{env: map[string]string{"RIOT_TOKEN": give}}
		if got := strings.Join(mustParse(t, w).Warnings, "\n"); got != want {
			t.Errorf("%s: %q, want %q", give, got, want)
		}
		w.env["UPSTREAM_URL"] = "http://127.0.0.1:9000" // a simulated Riot takes any
		if got := mustParse(t, w).Warnings; len(got) > 0 {
			t.Errorf("%s: %q", give, got)
		}
	}
}

func TestProxiesForPlainHTTP(t *testing.T) {
	for _, proxy := range []string{"socks5://proxy:1080", "socks5h://proxy:1080"} {
		s := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}}, "--upstream-url=http://127.0.0.1:9000", "--upstream-proxy="+proxy).Settings
		if s.UpstreamProxy == nil || s.UpstreamProxy.String() != proxy {
			t.Errorf("%s: %v", proxy, s.UpstreamProxy)
		}
	}
	if s := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}}, "--upstream-proxy=https://proxy:1080").Settings; s.UpstreamProxy == nil {
		t.Error("refused for https")
	}
}
