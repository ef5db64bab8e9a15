package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The table of what was run in docs/clients.md names tests that are there and
// the versions that they run, and leaves out no client that they run.
func TestDocsClientsVersions(t *testing.T) {
	root := filepath.Join("..", "..")
	doc, err := os.ReadFile(filepath.Join(root, "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "examples", "node", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var locked struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &locked); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "\n## What was run\n")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| [^|]+ \| ([^|]+) \|$`).FindAllStringSubmatch(table, -1)
	var versions []string
	named := map[string]bool{}
	for _, row := range rows {
		if version, npm := locked.Dependencies[row[1]]; npm {
			versions = append(versions, row[1])
			if row[2] != version {
				t.Errorf("%s: %s is written, %s is run", row[1], row[2], version)
			}
		}
		for _, m := range regexp.MustCompile("`(Test[^`]+)`").FindAllStringSubmatch(row[3], -1) {
			named[m[1]] = true
		}
	}
	var run []string
	for _, c := range nodeClients {
		run = append(run, "TestNodeClients/"+c.name, "TestNodeClientsWithTokens/"+c.name)
	}
	for _, e := range examples {
		if e.dir != "node" || strings.HasSuffix(e.command, "fetch.js") { // the others are nodeClients
			run = append(run, "TestExamples/"+e.command)
		}
	}
	run = append(run, "TestDocsClientsCurl")
	for _, name := range run {
		if !named[name] {
			t.Errorf("no row for %s", name)
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("there is no test %s", name)
	}
	for name := range locked.Dependencies {
		if !strings.HasPrefix(name, "riftjs-axios") && !slices.Contains(versions, name) {
			t.Errorf("no row for %s", name)
		}
	}
}
