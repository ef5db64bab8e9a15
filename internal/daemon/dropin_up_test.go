//go:build unix

package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// deploy/up.sh is run with a docker that only writes down what it is asked for. That the images build and the containers
// start is not checked here.
func TestUpScript(t *testing.T) {
	script, err := os.ReadFile("../../deploy/up.sh")
	if err != nil {
		t.Fatal(err)
	}
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
	put("bin/docker", "#!/bin/sh\necho \"$@\" >>"+dir+"/asked\n")
	up := func(token string) error {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", filepath.Join(dir, "deploy", "up.sh"))
		cmd.Env = []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH"), "RIOT_TOKEN=" + token}
		return cmd.Run()
	}
	if up("") == nil {
		t.Error("it started without a key")
	}
	if err := up(canary); err != nil {
		t.Fatal(err)
	}
	if err := up("RGAPI-other"); err != nil {
		t.Fatal(err)
	}
	asked, _ := os.ReadFile(filepath.Join(dir, "asked"))
	if n := strings.Count(string(asked), "compose --profile metrics up -d --build"); n != 2 || strings.Contains(string(asked), "RGAPI") {
		t.Errorf("docker was asked for %q", asked)
	}
	env, _ := os.ReadFile(filepath.Join(dir, ".env"))
	if string(env) != "RIOT_TOKEN="+canary+"\n" {
		t.Error(".env is not what the first run wrote")
	}
}
