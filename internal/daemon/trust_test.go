package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"riftrelay/internal/trust"
)

// The lines are a script, in any directory, and colours change nothing of it.
func TestTrustText(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's $HOME; here")
	a, err := trust.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := trustText(a, "http://[::1]:8985", false)
	if painted := trustText(a, "http://[::1]:8985", true); painted == plain || regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(painted, "") != plain {
		t.Error("colours change the text")
	}
	for _, want := range []string{"-Dhttps.proxyHost=::1 -Dhttps.proxyPort=8985", "export HTTPS_PROXY=http://[::1]:8985\n"} {
		if !strings.Contains(plain, want) {
			t.Errorf("%q is missing in\n%s", want, plain)
		}
	}
	if strings.Contains(plain, "PRIVATE") {
		t.Error("a key is shown")
	}
	var script strings.Builder
	for line := range strings.Lines(plain) {
		if strings.HasPrefix(line, "export ") || strings.HasPrefix(line, "#") {
			script.WriteString(line)
		}
	}
	cmd := exec.Command("sh", "-c", script.String()+"\nprintf %s \"$NODE_EXTRA_CA_CERTS\"")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != a.File() {
		t.Errorf("a shell reads %q, %v; want %q", out, err, a.File())
	}
}
