package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestKeysAreNeverPrinted(t *testing.T) {
	w := world{env: map[string]string{"RIOT_TOKEN": "main=" + canary() + "," + canary() + "2", "UPSTREAM_PROXY": "http://user:CANARY@proxy:1", "ADMIN_TOKEN": "CANARY-token-long"}}
	in := mustParse(t, w, "validate")
	s := in.Settings
	if s.AdminToken() != "CANARY-token-long" || len(s.Keys()) != 2 || s.Keys()[0].Value != canary() || s.UpstreamProxy == nil {
		t.Fatal("the keys were not read, so the test shows nothing")
	}
	holder := struct {
		Settings Settings
		Pointer  *Settings
		In       *Invocation
		hidden   *Settings
		copied   Settings
	}{*s, s, in, s, *s}
	var printed bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t"} {
		for _, v := range []any{s, *s, in, *in, holder, &holder, s.Effective()} {
			fmt.Fprintf(&printed, verb+"\n", v)
		}
	}
	for _, v := range []any{s, *s, in, holder} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		printed.Write(data)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&printed, nil), slog.NewJSONHandler(&printed, nil)} {
		slog.New(h).Info("start", "settings", s, "value", *s, "in", in)
	}
	printed.WriteString(s.Describe())
	if !strings.Contains(printed.String(), "main=(hidden),key1=(hidden)") {
		t.Error("the names of the keys are not shown")
	}
	for _, secret := range []string{"CANARY", fmt.Sprintf("%x", "CANARY")} {
		if i := strings.Index(printed.String(), secret); i >= 0 {
			t.Errorf("printed: …%s…", printed.String()[max(0, i-100):i+20])
		}
	}
}

func TestKeysAreNeverInMessages(t *testing.T) {
	key := canary()
	token := map[string]string{"RIOT_TOKEN": "RGAPI-x"}
	tests := []struct {
		name string
		w    world
		args []string
	}{
		{"as an argument", world{}, []string{key}},
		{"as an argument of serve", world{}, []string{"serve", key}},
		{"as a flag", world{}, []string{"--" + key}},
		{"as a short flag", world{}, []string{"-" + key}},
		{"in another setting", world{env: map[string]string{"PORT": key, "PACING": key, "UPSTREAM_URL": key, "HOSTS": key, "LISTEN_ADDR": key, "ADMIN_ADDR": key}}, nil},
		{"as a file", world{env: map[string]string{"CONFIG_FILE": key, "METHODS_FILE": key, "UPSTREAM_CA_FILE": key}}, nil},
		{"as a name", world{env: map[string]string{"RIOT_TOKEN": key + "="}}, nil},
		{"as a wrong name", world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x" + key + "+=y"}}, nil},
		{"twice", world{env: map[string]string{"RIOT_TOKEN": key + "," + key, "PORT": "x"}}, nil},
		{"with rubbish", world{env: map[string]string{"RIOT_TOKEN": key + "\x00\n" + key}}, nil},
		{"with spaces", world{env: map[string]string{"RIOT_TOKEN": "CANARY " + key}}, nil},
		{"in a broken .env", world{files: map[string]string{".env": "what is\n" + key + "\n" + "RIOT_TOKEN='" + key}}, nil},
		{"in an unterminated .env", world{files: map[string]string{".env": "RIOT_TOKEN=\"" + key}}, nil},
		{"in a broken file", world{env: map[string]string{"CONFIG_FILE": "f"}, files: map[string]string{"f": "riot_token: [" + key + "\nx: : {" + key + "}"}}, nil},
		{"as a key of the file", world{env: map[string]string{"CONFIG_FILE": "f"}, files: map[string]string{"f": key + ": 1\n? [" + key + "]\n: 1"}}, nil},
		{"in a map in the file", world{env: map[string]string{"CONFIG_FILE": "f"}, files: map[string]string{"f": "riot_token: {a: " + key + "}"}}, nil},
		{"in a proxy's password", world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x", "UPSTREAM_PROXY": "http://user:CANARY@"}}, nil},
		{"in the simulated edge", world{env: token}, []string{"sim", "--key", "CANARY,"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if text := strings.Join(parseError(t, tt.w, tt.args...), "\n"); strings.Contains(text, "CANARY") {
				t.Errorf("shown: %s", text)
			}
		})
	}
	in := mustParse(t, world{}, "sim", "--key", key)
	data, err := json.Marshal(in)
	if text := fmt.Sprintf("%v %+v %#v %s", in, *in, *in, data); err != nil || strings.Contains(text, "CANARY") {
		t.Errorf("sim: %v %s", err, text)
	}
}
