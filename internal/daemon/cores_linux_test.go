package daemon

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The kernel writes no core of a relay, whatever the limits of its parent are.
func TestNoCoreDumps(t *testing.T) {
	p := startProgram(t, "http://127.0.0.1:1", "ulimit -c unlimited 2>/dev/null; true")
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(limits)) {
		if f := strings.Fields(line); strings.HasPrefix(line, "Max core file size") && (f[4] != "0" || f[5] != "0") {
			t.Error(line)
		}
	}
}
