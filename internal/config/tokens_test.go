package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"riftrelay/internal/tokens"
)

func kept(texts ...string) (list []tokens.Token) {
	for _, t := range texts {
		list = append(list, tokens.Of(t))
	}
	return list
}

func TestClients(t *testing.T) {
	want := []Client{
		{Name: "bot", Tokens: kept("token-of-bot=="), Budget: "crawler", NoHigh: true, Patterns: []Pattern{
			{Verb: "GET", Path: "/lol/match/v5"}, {Host: "kr", Path: "/"}, {Verb: "POST", Host: "americas", Path: "/lol/tournament/v5/codes"},
		}},
		{Name: "web", Tokens: kept("CANARY-1", "CANARY-2")},
	}
	rules := map[string]string{
		"RIOT_TOKEN": "RGAPI-x", "RATE_BUDGET_Crawler": "0.5", "CLIENT_BOT_BUDGET": "CRAWLER", "CLIENT_bot_PRIORITY": "normal",
		"CLIENT_Bot_ALLOW": "GET /lol/match/v5/, kr:/,POST americas:/lol/tournament/v5/codes",
	}
	with := func(name, text string) map[string]string {
		env := map[string]string{name: text}
		for n, v := range rules {
			env[n] = v
		}
		return env
	}
	for name, w := range map[string]world{
		"setting": {env: with("CLIENT_TOKENS", "web=CANARY-1, bot = token-of-bot==,WEB=CANARY-2")},
		"file":    {env: with("CLIENT_TOKENS_FILE", "f"), files: map[string]string{"f": "\ufeff# ours\r\nweb=CANARY-1 # the old one\r\n\n bot=token-of-bot==\nweb=CANARY-2"}},
		"YAML":    {env: with("CONFIG_FILE", "y"), files: map[string]string{"y": "client_tokens:\n  - web=CANARY-1\n  - bot=token-of-bot==\n  - web=CANARY-2\n"}},
	} {
		in := mustParse(t, w)
		if !reflect.DeepEqual(in.Settings.Clients, want) || len(in.Warnings) > 0 {
			t.Errorf("%s: %+v %q", name, in.Settings.Clients, in.Warnings)
		}
		if text := fmt.Sprintf("%v %+v %#v %s", in, *in, in.Settings, in.Settings.Describe()); strings.Contains(text, "CANARY") {
			t.Errorf("%s: a token is printed", name)
		}
	}
}

func TestClientErrors(t *testing.T) {
	const c = "CANARY-00"
	for _, tt := range []struct {
		name string
		env  map[string]string
		file string
		want []string
	}{
		{"no name", map[string]string{"CLIENT_TOKENS": c}, "", []string{"CLIENT_TOKENS token 1 is not shown; allowed: name=token"}},
		{"a wrong name", map[string]string{"CLIENT_TOKENS": "a b=" + c}, "", []string{"CLIENT_TOKENS token 1 is not shown"}},
		{"short", map[string]string{"CLIENT_TOKENS": "a=CANARY,b=" + c + "+é"}, "", []string{"CLIENT_TOKENS token 1 is not shown", "CLIENT_TOKENS token 2 is not shown"}},
		{"twice", map[string]string{"CLIENT_TOKENS": "a=" + c + ",b=" + c}, "", []string{"CLIENT_TOKENS token 2 is the same as token 1"}},
		{"a key for a name", map[string]string{"CLIENT_TOKENS": "RGAPI-" + c + "=" + c}, "", []string{"CLIENT_TOKENS token 1 is not shown"}},
		{"a key for a token", map[string]string{"RIOT_TOKEN": "main=" + canary(), "CLIENT_TOKENS": "web=" + canary()}, "", []string{"CLIENT_TOKENS is not shown (a token of it is the key main"}},
		{"a part of a path", map[string]string{"CLIENT_TOKENS": "a=" + c + ",b=Summoner"}, "", []string{"CLIENT_TOKENS is not shown (a token of it is a part of /"}},
		{"a host", map[string]string{"CLIENT_TOKENS_FILE": "f"}, "a=americas", []string{`CLIENT_TOKENS_FILE is "f" (a token of it is a part of americas, which`}},
		{"no budget", map[string]string{"CLIENT_TOKENS": "a=" + c, "CLIENT_A_BUDGET": "x"}, "", []string{`CLIENT_A_BUDGET is "x" (there is no RATE_BUDGET_X)`}},
		{"no client", map[string]string{"CLIENT_TOKENS": "a=" + c, "CLIENT_B_ALLOW": "/lol"}, "", []string{`CLIENT_B_ALLOW is "/lol" (CLIENT_TOKENS has no client b)`}},
		{"no clients at all", map[string]string{"CLIENT_B_PRIORITY": "normal"}, "", []string{`CLIENT_B_PRIORITY is "normal" (CLIENT_TOKENS has no client b)`}},
		{"no host", map[string]string{"CLIENT_TOKENS": "a=" + c, "CLIENT_A_ALLOW": "xx1:/"}, "", []string{`CLIENT_A_ALLOW is "xx1:/" (no host "xx1")`}},
		{"no method", map[string]string{"CLIENT_TOKENS": "a=" + c, "CLIENT_A_ALLOW": "/lol/mat"}, "", []string{`CLIENT_A_ALLOW is "/lol/mat" (no method begins with "/lol/mat")`}},
		{"no verb", map[string]string{"CLIENT_TOKENS": "a=" + c, "CLIENT_A_ALLOW": "get /lol"}, "", []string{`CLIENT_A_ALLOW is "get /lol" (no method begins with "get /lol")`}},
		{"no path", map[string]string{"CLIENT_TOKENS": "a=" + c, "CLIENT_A_ALLOW": "kr"}, "", []string{`CLIENT_A_ALLOW is "kr" ("kr" has no path`}},
		{"priority", map[string]string{"CLIENT_TOKENS": "a=" + c, "CLIENT_A_PRIORITY": "low"}, "", []string{`CLIENT_A_PRIORITY is "low"; allowed: `}},
		{"no file", map[string]string{"CLIENT_TOKENS_FILE": "g"}, "", []string{`CLIENT_TOKENS_FILE is "g": open g: file does not exist`}},
		{"both", map[string]string{"CLIENT_TOKENS_FILE": "f", "CLIENT_TOKENS": "a=" + c}, "a=" + c, []string{`CLIENT_TOKENS_FILE is "f": CLIENT_TOKENS is set in the environment as well`}},
		{"nothing in the file", map[string]string{"CLIENT_TOKENS_FILE": "f"}, "# " + c, []string{`CLIENT_TOKENS_FILE is "f": has no token`}},
		{"a line of it", map[string]string{"CLIENT_TOKENS_FILE": "f"}, "a=" + c + "\n\n" + c + "\nb=" + c, []string{
			`CLIENT_TOKENS_FILE is "f": line 3 is not shown`, `CLIENT_TOKENS_FILE is "f": line 4 is the same as line 1`,
		}},
		{"origins", map[string]string{"CORS_ORIGINS": "app.example"}, "", []string{`CORS_ORIGINS is "app.example" ("app.example" is no origin)`}},
		{"origins of many names", map[string]string{"CORS_ORIGINS": "https://*.example"}, "", []string{`CORS_ORIGINS is "https://*.example" ("https://*.example" is no origin)`}},
		{"a path behind an origin", map[string]string{"CORS_ORIGINS": "https://a.example,https://app.example/x"}, "", []string{`CORS_ORIGINS is`}},
		{"hosts", map[string]string{"ALLOWED_HOSTS": "a.example:80"}, "", []string{`ALLOWED_HOSTS is "a.example:80" ("a.example:80" is no host name)`}},
		{"a key alone", map[string]string{"TLS_KEY_FILE": "f"}, c, []string{`TLS_KEY_FILE is "f" (TLS_CERT_FILE, which belongs to it, is not set)`}},
		{"a certificate alone", map[string]string{"TLS_CERT_FILE": "f"}, c, []string{`TLS_CERT_FILE is "f" (TLS_KEY_FILE, which belongs to it, is not set)`}},
		{"no certificate", map[string]string{"TLS_CERT_FILE": "f", "TLS_KEY_FILE": "f"}, c, []string{`TLS_CERT_FILE is "f" (failed to find any PEM data`}},
	} {
		w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}, files: map[string]string{"f": tt.file}}
		for n, v := range tt.env {
			w.env[n] = v
		}
		lines := parseError(t, w)
		slices.Sort(lines)
		ok := len(lines) == len(tt.want)
		for i := range tt.want {
			ok = ok && strings.HasPrefix(lines[i], tt.want[i])
		}
		if !ok || strings.Contains(strings.Join(lines, ""), "CANARY") {
			t.Errorf("%s: %q, want %q", tt.name, lines, tt.want)
		}
	}
}

// A client that is revoked by taking it out of the file is gone, whatever
// settings there still are for it.
func TestRevokedClientHasSettings(t *testing.T) {
	w := world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x", "CLIENT_TOKENS_FILE": "f", "CLIENT_B_PRIORITY": "normal"}, files: map[string]string{"f": "a=CANARY-1\nb=CANARY-2"}}
	s := mustParse(t, w).Settings
	w.files["f"] = "a=CANARY-1"
	list, err := s.ReloadClients()
	if err != nil || len(list) != 1 || list[0].Name != "a" {
		t.Errorf("%+v %v", list, err)
	}
	if in := mustParse(t, w); len(in.Warnings) != 1 || !strings.Contains(in.Warnings[0], "no client b") {
		t.Errorf("%q", in.Warnings)
	}
	w.env["RIOT_TOKEN"], w.env["RIOT_TOKEN_FILE"], w.files["keys"] = "", "keys", "not a key"
	if list, err := s.ReloadClients(); err != nil || len(list) != 1 {
		t.Errorf("a mistake in the keys holds up a revocation: %v", err)
	}
	w.env["RIOT_TOKEN"], w.env["RIOT_TOKEN_FILE"] = "x", ""
	w.files["f"] = "oops CANARY"
	if list, err := s.ReloadClients(); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("%+v %v", list, err)
	}
	if keys, err := s.ReloadKeys(); err != nil || len(keys) != 1 {
		t.Errorf("a mistake in the tokens holds up a new key: %v", err)
	}
}

func TestNamesOfTheRelay(t *testing.T) {
	for listen, want := range map[string]string{"": "", "*": "*", "127.0.0.1": "", "[::1]:1": "", "localhost:1": "", "0.0.0.0": "*", "10.0.0.1": "*", "::": "*"} {
		s := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x", "LISTEN_ADDR": listen}}).Settings
		if s.Hosts == nil || strings.Join(s.Hosts, ",") != want {
			t.Errorf("%q: %q", listen, s.Hosts)
		}
	}
	s := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x", "ALLOWED_HOSTS": "Relay.example, b", "CORS_ORIGINS": "https://App.example/,*"}}).Settings
	if !slices.Equal(s.Hosts, []string{"relay.example", "b"}) || !slices.Equal(s.Origins, []string{"https://app.example", "*"}) {
		t.Errorf("%q %q", s.Hosts, s.Origins)
	}
}

// No file makes a client of a token that could not be shown, or prints one.
func FuzzTokensFile(f *testing.F) {
	for _, text := range []string{"a=CANARY-1", "# x\na=CANARY-1\nA=CANARY-2", "a=b", "=CANARY-12", "a==CANARY-1", "\ufeffa=CANARY-1#x", "a=CANARY-1\r\n", "a CANARY-1", strings.Repeat("a=", 999)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, problems := parseTokenFile([]byte(text))
		if len(list) == 0 && len(problems) == 0 {
			t.Error("nobody, and no reason why")
		}
		n := 0
		for _, c := range list {
			n += len(c.Tokens)
			if !clientForm.MatchString(c.Name) || len(c.Tokens) == 0 || !strings.Contains(strings.ToLower(text), c.Name) {
				t.Errorf("client %+v", c)
			}
		}
		if n > strings.Count(text, "=") {
			t.Errorf("%d tokens", n)
		}
		for _, p := range problems {
			if strings.Contains(p, "CANARY") {
				t.Errorf("printed: %s", p)
			}
		}
	})
}
