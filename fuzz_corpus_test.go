package riftrelay_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fuzzTargets finds all of the tree, as directory and name.
func fuzzTargets(t *testing.T) (all [][2]string) {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := os.ReadFile(name)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			all = append(all, [2]string{filepath.Dir(name), string(m[1])})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 17 {
		t.Fatalf("%d fuzz targets found: not the root of the tree?", len(all))
	}
	return all
}

// TestFuzzTargetsHaveACorpus holds each fuzz target to inputs that are committed,
// and that were chosen: there are several, each with a name that says what it is.
func TestFuzzTargetsHaveACorpus(t *testing.T) {
	named := regexp.MustCompile(`^[a-z0-9_]*[a-z_][a-z0-9_]*$`)
	for _, target := range fuzzTargets(t) {
		dir := filepath.Join(target[0], "testdata", "fuzz", target[1])
		seeds, err := os.ReadDir(dir)
		if err != nil || len(seeds) < 5 {
			t.Errorf("%s has %d inputs (%v); want 5 at least", dir, len(seeds), err)
		}
		for _, s := range seeds {
			if hash := regexp.MustCompile(`^[0-9a-f]{16}$`); !named.MatchString(s.Name()) || hash.MatchString(s.Name()) {
				t.Errorf("%s/%s: want a name that says what it is", dir, s.Name())
			}
		}
	}
}
