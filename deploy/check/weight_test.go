package check

import (
	"debug/buildinfo"
	"os"
	"testing"
)

// The program as it is released: what docs/dependencies.md promises of its size
// and of the number of modules in it.
func TestProgramWeight(t *testing.T) {
	const mostBytes, mostModules = 30_000_000, 35
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Stat(exe)
	if err != nil {
		t.Fatal(err)
	}
	if file.Size() > mostBytes {
		t.Errorf("the program has %d bytes; allowed: %d", file.Size(), mostBytes)
	}
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) > mostModules || len(info.Deps) == 0 {
		t.Errorf("the program consists of %d modules besides its own; allowed: %d", len(info.Deps), mostModules)
	}
}
