package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"riftrelay/internal/trust"
	"riftrelay/riotsim"
)

// Every curl line of docs/clients.md gets Riot's answer.
func TestDocsClientsCurl(t *testing.T) {
	curl := requireTool(t, "curl")
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "trust")
	g, _ := startTrusted(t, riotsim.Config{Requests: -1}, map[string]string{"TRUST_DIR": dir})
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte("silent\nshow-error\ninclude\nmax-time = 20\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^curl .*$`).FindAllString(string(doc), -1)
	if len(lines) < 10 {
		t.Fatalf("%d lines: the document is not read right", len(lines))
	}
	for _, line := range lines {
		before := len(g.edge.Requests())
		script := strings.ReplaceAll(strings.ReplaceAll(line, "127.0.0.1:8985", strings.TrimPrefix(g.front, "http://")), "trust/"+trust.CertificateFile, filepath.Join(dir, trust.CertificateFile))
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = []string{"HOME=" + home, "CURL_HOME=" + home, "PATH=" + filepath.Dir(curl)}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "HTTP/1.1 200 OK") || !strings.Contains(strings.ToLower(string(out)), "x-riftrelay-source: riot") {
			t.Errorf("%s: %v\n%s", line, err, out)
			continue
		}
		seen := g.edge.Requests()[before:]
		if len(seen) != 1 || !slices.Equal(seen[0].Header["X-Riot-Token"], []string{canary}) || strings.Contains(seen[0].URI, "platform=") {
			t.Errorf("%s: Riot saw %+v", line, seen)
		}
	}
}

// A program that trusts the authority trusts nothing else by it: the line of
// curl's that fails for a name outside.
func TestForeignNameWithCurl(t *testing.T) {
	curl := requireTool(t, "curl")
	dir := filepath.Join(t.TempDir(), "trust")
	g, _ := startTrusted(t, riotsim.Config{}, map[string]string{"TRUST_DIR": dir})
	out, err := exec.Command(curl, "--disable", "--silent", "--show-error", "--noproxy", "*", "--max-time", "20", "--cacert", filepath.Join(dir, trust.CertificateFile),
		"--connect-to", "::"+strings.TrimPrefix(g.front, "http://"), "https://example.com/").CombinedOutput()
	if err == nil {
		t.Errorf("example.com is served: %s", out)
	}
}
