package daemon

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"riftrelay/internal/trust"
	"riftrelay/riotsim"
)

type example struct {
	dir, command string
	trusts       string // the variable that names the authority's certificate; "" = no TLS
}

// onRequest are those whose libraries come from registries that tests can't count on. RIFTRELAY_EXAMPLES names, by
// their files, which of them run as well. Those for .NET and Rust have to be built first.
var onRequest = []example{
	{"python", "python3 with_riotwatcher.py", "REQUESTS_CA_BUNDLE"},
	{"python", "python3 with_pulsefire.py", ""},
}

// requested returns those of onRequest that somebody wants to be run.
func requested(t *testing.T) (list []example) {
	t.Helper()
	for _, file := range strings.Fields(os.Getenv("RIFTRELAY_EXAMPLES")) {
		i := slices.IndexFunc(onRequest, func(e example) bool { return strings.HasSuffix(e.command, " "+file) })
		if i < 0 {
			t.Fatalf("RIFTRELAY_EXAMPLES names %s; allowed: files of onRequest", file)
		}
		list = append(list, onRequest[i])
	}
	return list
}

// examples are the commands of the directory examples that can run here. The others, for .NET, Rust and libraries of
// Python's, are marked there as not tested.
var examples = []example{
	{".", "sh curl.sh", ""},
	{"node", "node fetch.js", ""},
	{"node", "node twisted.js", ""},
	{"node", "node teemojs.js", ""},
	{"node", "node kayn.js", ""},
	{"node", "node riot-ratelimiter.js", ""},
	{"node", "node riftjs.js", "NODE_EXTRA_CA_CERTS"},
	{"node", "node galeforce.js", "NODE_EXTRA_CA_CERTS"},
	{"node", "node fightmegg.js", "NODE_EXTRA_CA_CERTS"},
	{"python", "python3 plain.py", ""},
	{"python", "python3 with_requests.py", "REQUESTS_CA_BUNDLE"},
	{"go", "go run ./plain", ""},
	{"go", "go run ./proxy", "SSL_CERT_FILE"},
	{"java", "java Example.java", ""},
}

// Every example gets its player's level through a relay, without a key.
func TestExamples(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trust")
	g, _ := startTrusted(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, CheckIDs: true, Requests: -1}, map[string]string{"TRUST_DIR": dir})
	shim, err := filepath.Abs(filepath.Join("testdata", "clients", "shim.js"))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, e := range slices.Concat(examples, requested(t)) {
		all.Go(func() {
			t.Run(e.command, func(t *testing.T) {
				args := strings.Fields(e.command)
				args[0] = requireTool(t, args[0])
				switch {
				case args[1] == "curl.sh":
					requireTool(t, "curl")
				case args[1] == "with_requests.py" && exec.Command(args[0], "-c", "import requests").Run() != nil:
					lacks(t, "requests for python3 (Debian's package python3-requests)")
				case e.dir == "node":
					requireNode(t)
					args = slices.Insert(args, 1, "--require", shim)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
				defer cancel()
				cmd := exec.CommandContext(ctx, args[0], args[1:]...)
				cmd.Dir = filepath.Join("..", "..", "examples", e.dir)
				cmd.WaitDelay = time.Second
				cmd.Env = append(os.Environ(), "RIFTRELAY="+g.front, "RELAY="+g.front, "RIOT_API_KEY=client-key", "NO_PROXY=", "no_proxy=")
				if e.dir == "go" {
					cmd.Env = append(cmd.Env, "GOPROXY=off") // else it would ask by way of the relay
				}
				if e.trusts != "" {
					cmd.Env = append(cmd.Env, "HTTPS_PROXY="+g.front, "https_proxy="+g.front, e.trusts+"="+filepath.Join(dir, trust.CertificateFile))
				}
				var complaints bytes.Buffer
				cmd.Stderr = &complaints
				out, err := cmd.Output()
				if err != nil || !regexp.MustCompile(`^level \d+\n$`).Match(out) {
					t.Errorf("%v\n%s%s", err, out, complaints.Bytes())
				}
			})
		})
	}
	all.Wait()
	accounts := 0
	for _, r := range g.edge.Requests() {
		if r.URI == "/riot/account/v1/accounts/by-riot-id/Hide%20on%20bush/KR1" {
			accounts++
		}
		if !slices.Equal(r.Header["X-Riot-Token"], []string{canary}) || strings.Contains(r.URI, "api_key") {
			t.Errorf("Riot saw %s %v", r.URI, r.Header)
		}
	}
	if totals := g.edge.Report().Totals; accounts == 0 || totals.Arrived != 2*accounts || totals.Refused != 0 {
		t.Errorf("%d accounts, and at Riot %+v", accounts, totals)
	}
}

// No example is left out of both the test and the list of those that nobody has run here.
func TestExamplesAreListed(t *testing.T) {
	root := filepath.Join("..", "..", "examples")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.sh", "node/*.js", "python/*.py", "go/*/main.go", "java/*.java", "csharp/*.cs", "rust/*.rs"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, f := range files {
			name, _ := filepath.Rel(root, f)
			name = strings.TrimSuffix(filepath.ToSlash(name), "/main.go")
			line := regexp.MustCompile(`(?m)^\| \[` + regexp.QuoteMeta(name) + `\].*$`).FindString(string(readme))
			if line == "" {
				t.Errorf("examples/README.md has no line for %s", name)
			}
			run := slices.ContainsFunc(examples, func(e example) bool {
				words := strings.Fields(e.command)
				return filepath.ToSlash(filepath.Join(e.dir, words[len(words)-1])) == name
			})
			if run == strings.Contains(line, "not tested") {
				t.Errorf("%s: run by the test: %v; %s", name, run, line)
			}
		}
	}
}
