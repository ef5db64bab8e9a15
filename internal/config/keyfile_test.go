package config

import (
	"reflect"
	"strings"
	"testing"

	"riftrelay"
)

func TestKeyFile(t *testing.T) {
	w := world{
		env:   map[string]string{"RIOT_TOKEN_FILE": "keys", "KEY_ROUTES": "/lol/tournament/=tournament, host:kr=asia,/lol/tournament-stub/=tournament"},
		files: map[string]string{"keys": "\ufeff# ours\r\nmain=" + canary() + "1\r\n\r\ntournament.2 = " + canary() + "2 # of the other product\nasia=" + canary() + "3"},
	}
	s := mustParse(t, w).Settings
	want := []riftrelay.Key{{Name: "main", Value: canary() + "1"}, {Name: "tournament.2", Value: canary() + "2"}, {Name: "asia", Value: canary() + "3"}}
	if got := s.Keys(); !reflect.DeepEqual(got, want) || s.KeyFile != "keys" {
		t.Errorf("keys %v of %q", got, s.KeyFile)
	}
	groups := []riftrelay.Group{{Name: "tournament", Paths: []string{"/lol/tournament/", "/lol/tournament-stub/"}}, {Name: "asia", Hosts: []string{"kr"}}}
	if !reflect.DeepEqual(s.Groups, groups) || !reflect.DeepEqual(s.Limiter().Groups, groups) {
		t.Errorf("groups %+v", s.Groups)
	}
	if strings.Contains(s.Describe(), canary()) {
		t.Errorf("shows a key:\n%s", s.Describe())
	}

	w.files["keys"] = canary() + "4\ntournament=" + canary() + "5\nasia.1=" + canary() + "6"
	keys, err := s.ReloadKeys()
	if err != nil || len(keys) != 3 || keys[0] != (riftrelay.Key{Name: "key0", Value: canary() + "4"}) {
		t.Errorf("%v, %v", keys, err)
	}
	w.files["keys"] = "half a=" + canary()
	if keys, err := s.ReloadKeys(); err == nil || strings.Contains(err.Error(), canary()) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("%v, %v", keys, err)
	}
}

func TestReloadFromDotEnv(t *testing.T) {
	w := world{files: map[string]string{".env": "RIOT_TOKEN=a"}}
	s := mustParse(t, w).Settings
	w.files[".env"] = "RIOT_TOKEN=a,b"
	if keys, err := s.ReloadKeys(); err != nil || len(keys) != 2 || s.KeyFile != "" {
		t.Errorf("%v, %v", keys, err)
	}
}

func TestKeyFileErrors(t *testing.T) {
	for _, tt := range []struct {
		name, file, routes, token, want string
	}{
		{"none", "", "", "", `RIOT_TOKEN_FILE is "keys": open keys: file does not exist; allowed: a readable file of keys`},
		{"both", "a", "", "b", `RIOT_TOKEN_FILE is "keys": RIOT_TOKEN is set in the environment as well; allowed: one of the two`},
		{"empty", "# nothing\n", "", "", `RIOT_TOKEN_FILE is "keys": has no key; allowed: one a line`},
		{"twice", "a=x\n\nb=x\n", "", "", `RIOT_TOKEN_FILE is "keys": line 3 is the same as line 1; allowed: each key once`},
		{"a name twice", "a=x\na=y\n", "", "", `RIOT_TOKEN_FILE is "keys": line 2 is named "a", as line 1 is; allowed: each name once`},
		{"large", strings.Repeat("#", 2<<20), "", "", `RIOT_TOKEN_FILE is "keys": has 2097152 bytes; allowed: at most 1048576`},
		{"no form", "a=x", "/lol/", "", `KEY_ROUTES is "/lol/"; allowed: /beginning/of/a/path=group or host:kr=group`},
		{"a group without a key", "a=x", "/lol/=b", "", `KEY_ROUTES is "/lol/=b" (Config.Groups[0].Name is "b", and no key is of that group; allowed: `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := world{env: map[string]string{"RIOT_TOKEN_FILE": "keys"}, files: map[string]string{}}
			for name, v := range map[string]string{"KEY_ROUTES": tt.routes, "RIOT_TOKEN": tt.token} {
				if v != "" {
					w.env[name] = v
				}
			}
			if tt.file != "" {
				w.files["keys"] = tt.file
			}
			if lines := parseError(t, w); len(lines) != 1 || !strings.HasPrefix(lines[0], tt.want) {
				t.Errorf("got  %q\nwant %q", lines, tt.want)
			}
		})
	}
}
