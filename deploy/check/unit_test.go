package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const unit = "deploy/riftrelay.service"

func TestUnitNamesSettings(t *testing.T) {
	known := settings(t)
	named := regexp.MustCompile(`(?m)^Environment=([A-Z_]+)=`).FindAllStringSubmatch(read(t, unit), -1)
	if len(named) == 0 {
		t.Error("no setting in the unit; not read right")
	}
	for _, m := range named {
		if !known[m[1]] {
			t.Errorf("the unit sets %s, which is no setting", m[1])
		}
	}
}

func TestUnitIsSoundAndTight(t *testing.T) {
	analyze := need(t, "systemd-analyze", "systemd")
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	// As it is, but for the program's place and its user, which this machine needn't have.
	text := strings.NewReplacer("/usr/local/bin/riftrelay", exe, "User=riftrelay", "User=daemon").Replace(read(t, unit))
	dir := t.TempDir()
	file := filepath.Join(dir, "riftrelay.service")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := output(t, dir, analyze, "verify", "--man=no", file); strings.Contains(said, "riftrelay.service") {
		t.Errorf("systemd-analyze verify: %s", said)
	}
	said := output(t, dir, analyze, "security", "--offline=true", "--no-pager", file)
	m := regexp.MustCompile(`exposure level for riftrelay.service: ([0-9.]+)`).FindStringSubmatch(said)
	if m == nil {
		t.Fatalf("no exposure level in\n%s", said)
	}
	if level, err := strconv.ParseFloat(m[1], 64); err != nil || level > 2 {
		t.Errorf("exposure level %s; 2 at most\n%s", m[1], said)
	}
}
