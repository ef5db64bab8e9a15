package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"riftrelay"
	"riftrelay/internal/config"
)

func newKeeper(t *testing.T, file string) (*keeper, *buffer) {
	t.Helper()
	limiter, err := riftrelay.New(riftrelay.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	log := &buffer{}
	return &keeper{file: file, limiter: limiter, log: newLogger(log, &config.Settings{LogFormat: "json"}, true), written: func(bool) {}}, log
}

// Two relays with one state file overwrite each other's. Both say so, once.
func TestStateFileOfTwoProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	one, said := newKeeper(t, file)
	two, alsoSaid := newKeeper(t, file)
	const warning = "another process writes STATE_FILE"
	one.save()
	one.save()
	if strings.Contains(said.String(), warning) {
		t.Errorf("said of its own writing: %s", said)
	}
	for range 3 {
		two.save()
		one.save()
	}
	for _, log := range []*buffer{said, alsoSaid} {
		if n := strings.Count(log.String(), warning); n != 1 {
			t.Errorf("said %d times: %s", n, log)
		}
	}
}

// A second damaged file, or one of another version, doesn't overwrite the first
// that was set aside.
func TestDamagedStateFilesAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	for _, text := range []string{`{"version":99}`, "{", "[]"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		k, _ := newKeeper(t, file)
		k.load()
	}
	for name, want := range map[string]string{".damaged": `{"version":99}`, ".damaged2": "[]"} {
		if got, err := os.ReadFile(file + name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}
