// Package browsertest runs the page's tests in a real browser: scripts of
// playwright's beside this file, against a page that a Go test serves.
//
// They need node 20 or newer, Debian's chromium, and what is locked here:
//
//	npm ci --ignore-scripts --prefix internal/dashboard/browsertest
//
// Without one of them the test is skipped, and says so; RIFTRELAY_REQUIRE=all
// makes that a failure.
package browsertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Run runs a script, as "page.mjs", with what env ("NAME=value") adds to the
// environment and returns what it printed. The test fails if the script does, or
// takes longer than patience.
func Run(t *testing.T, script string, patience time.Duration, env ...string) string {
	t.Helper()
	dir, err := here()
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		lacks(t, "node in PATH")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		lacks(t, "chromium in PATH (apt-get install chromium)")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "playwright-core")); err != nil {
		lacks(t, "playwright-core (npm ci --ignore-scripts --prefix internal/dashboard/browsertest)")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, node, filepath.Join(dir, script))
	c.Env = append(append(os.Environ(), "CHROMIUM="+chromium), env...)
	c.WaitDelay = 5 * time.Second
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

func lacks(t *testing.T, what string) {
	t.Helper()
	none := "there is no " + what + ": the page is not tested in a browser"
	if os.Getenv("RIFTRELAY_REQUIRE") == "all" {
		t.Fatal(none)
	}
	t.Skip(none)
}

// here finds this directory from that of any package, where tests run.
func here() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		dir := filepath.Join(at, "internal", "dashboard", "browsertest")
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
		if up := filepath.Dir(at); up != at {
			at = up
			continue
		}
		return "", errors.New("internal/dashboard/browsertest is not above this directory")
	}
}
