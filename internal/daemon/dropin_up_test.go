//go:build unix

package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// deploy/up.sh is run with a docker that only writes down what it is asked for.
func TestUpScript(t *testing.T) {
	t.Log("not checked: that Docker builds the image, and that the containers start and reach each other")
	script, err := os.ReadFile("../../deploy/up.sh")
	if err != nil {
		t.Fatal(err)
	}
	const fake = "#!/bin/sh\necho \"$@\" >>\"$0.asked\"\ncase \"$*\" in 'compose port '*) echo 127.0.0.1:8985;; esac\n"
	for name, tt := range map[string]struct {
		docker, env, token string
		now, says          string // .env afterwards, and what it prints
		fails              bool
	}{
		"first":            {fake, "", canary, "RIOT_TOKEN=" + canary + "\n", "relay http://127.0.0.1:8985, Prometheus http://localhost:9090, Grafana http://localhost:3000\n", false},
		"again":            {fake, "RIOT_TOKEN=RGAPI-old\n", canary, "RIOT_TOKEN=RGAPI-old\n", "relay http", false},
		"settings, no key": {fake, "# mine\nRIOT_TOKEN=\nPORT=9000", canary, "# mine\nRIOT_TOKEN=\nPORT=9000\nRIOT_TOKEN=" + canary + "\n", "relay http", false},
		"a file of keys":   {fake, "RIOT_TOKEN_FILE=keys.txt\n", "", "RIOT_TOKEN_FILE=keys.txt\n", "relay http", false},
		"no key":           {fake, "", "", "", "set RIOT_TOKEN", true},
		"no key in .env":   {fake, "RIOT_TOKEN=\n", "", "RIOT_TOKEN=\n", "set RIOT_TOKEN", true},
		"no compose":       {"#!/bin/sh\nexit 1\n", "", canary, "", "docker has no compose plugin", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(name, text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			put("deploy/up.sh", string(script))
			put("bin/docker", tt.docker)
			if tt.env != "" {
				put(".env", tt.env)
			}
			cmd := exec.CommandContext(t.Context(), "/bin/sh", filepath.Join(dir, "deploy", "up.sh"))
			cmd.Env = []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH"), "RIOT_TOKEN=" + tt.token}
			out, err := cmd.CombinedOutput()
			if (err != nil) != tt.fails || !strings.Contains(string(out), tt.says) {
				t.Errorf("%v: %s", err, out)
			}
			env, _ := os.ReadFile(filepath.Join(dir, ".env"))
			asked, _ := os.ReadFile(filepath.Join(dir, "bin", "docker.asked"))
			if string(env) != tt.now {
				t.Errorf(".env is %q, want %q", env, tt.now)
			}
			started := strings.Contains(string(asked), "compose --profile metrics up -d --build\n")
			if started == tt.fails || strings.Contains(string(asked), "RGAPI") {
				t.Errorf("docker was asked for %q", asked)
			}
		})
	}
}
