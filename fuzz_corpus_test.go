package riftrelay_test

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
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

// TestFuzzTargetsAreFast runs the inputs of each fuzz target, on one core. A
// thousand in 10 s are 10 ms for each. Nearly all take a tenth of a millisecond,
// so only a target that has become slow, or a machine that stands still, exceeds
// that: the better of three runs counts.
func TestFuzzTargetsAreFast(t *testing.T) {
	if raceEnabled {
		t.Skip("it measures")
	}
	const most = 10 * time.Millisecond
	dirs := map[string]bool{}
	for _, target := range fuzzTargets(t) {
		dirs["./"+target[0]] = true
	}
	args := []string{"test", "-count=1", "-v", "-p=1", "-run=^Fuzz"}
	for dir := range dirs {
		args = append(args, dir)
	}
	best := map[string]time.Duration{}
	for range 3 {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		slow := false
		for name, each := range eachTook(out) {
			if before, seen := best[name]; !seen || each < before {
				best[name] = each
			}
			slow = slow || best[name] > most
		}
		if !slow {
			break
		}
	}
	if len(best) < 17 {
		t.Errorf("%d fuzz targets ran", len(best))
	}
	for name, each := range best {
		if each > most {
			t.Errorf("%s takes %v for an input; want %v at most", name, each, most)
		}
	}
}

// eachTook reads how long each input of a target took, from what go test -v says.
func eachTook(out []byte) map[string]time.Duration {
	line := regexp.MustCompile(`^( *)--- PASS: (Fuzz\w+)(/.*)? \(([0-9.]+)s\)`)
	took, inputs := map[string]time.Duration{}, map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		if m[3] != "" {
			inputs[m[2]]++
			continue
		}
		seconds, _ := strconv.ParseFloat(m[4], 64)
		took[m[2]] = time.Duration(seconds * float64(time.Second))
	}
	for name := range took {
		took[name] /= time.Duration(max(inputs[name], 1))
	}
	return took
}
