package riftrelay_test

import (
	"os/exec"
	"testing"
)

// TestMutantsApply holds the list of seeded faults to the code: each of them can
// still be put in. Whether the tests notice them, make mutants tells.
func TestMutantsApply(t *testing.T) {
	out, err := exec.Command("go", "-C", "tools/proof", "run", "./mutants", "-check").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
