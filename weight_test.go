package riftrelay_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostModules is how many modules of others the process may consist of that
// holds the keys. Whoever publishes a version of one of them could read the
// keys, so another one needs a reason, and a row in docs/dependencies.md.
const mostModules = 35

// linked lists the modules of others in the program, as go version -m does,
// and those that go.mod requires directly.
func linked(t *testing.T) (all, direct []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Indirect}}{{end}}{{end}}`, "./cmd/riftrelay")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0") // what is released for most, on any machine
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, indirect, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		all = append(all, name)
		if indirect == "false" {
			direct = append(direct, name)
		}
	}
	sorted := func(s []string) []string {
		slices.Sort(s)
		return slices.Compact(s)
	}
	return sorted(all), sorted(direct)
}

func TestWeight(t *testing.T) {
	all, direct := linked(t)
	if len(all) > mostModules || len(all) < 10 {
		t.Errorf("the program consists of %d modules; allowed: %d\n%s", len(all), mostModules, strings.Join(all, "\n"))
	}
	for _, m := range all {
		if strings.HasPrefix(m, "google.golang.org/grpc") || strings.HasPrefix(m, "google.golang.org/genproto") {
			t.Errorf("the program holds %s", m)
		}
	}
	doc, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^` ]+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		told = append(told, row[1])
	}
	slices.Sort(told)
	if !slices.Equal(told, direct) {
		t.Errorf("docs/dependencies.md has rows for\n%q; the program requires directly\n%q", told, direct)
	}
}
