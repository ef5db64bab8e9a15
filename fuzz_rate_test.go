//go:build !race

package riftrelay_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// TestFuzzTargetsAreFast runs the inputs of each fuzz target, on one core. A
// thousand in 10 s are 10 ms for each. Nearly all take a tenth of a millisecond,
// so only a target that has become slow, or a machine that stands still, exceeds
// that: the better of three runs counts.
func TestFuzzTargetsAreFast(t *testing.T) {
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
