package config

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
)

// canary is a key that must not be seen; put together so that no scanner takes it for one.
func canary() string { return "RGAPI-" + "CANARY-0000-4000-8000-000000000000" }

// world is an Env of maps.
type world struct {
	env   map[string]string
	files map[string]string
}

func (w world) Env() Env {
	return Env{
		Lookup: lookupIn(w.env),
		Names:  func() []string { return slices.Collect(maps.Keys(w.env)) },
		ReadFile: func(name string) ([]byte, error) {
			if content, ok := w.files[name]; ok {
				return []byte(content), nil
			}
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		},
	}
}

func mustParse(t *testing.T, w world, args ...string) *Invocation {
	t.Helper()
	in, err := Parse(args, w.Env())
	if err != nil {
		t.Fatalf("Parse(%q): %v", args, err)
	}
	return in
}

// parseError returns the lines of the error that there must be.
func parseError(t *testing.T, w world, args ...string) []string {
	t.Helper()
	in, err := Parse(args, w.Env())
	if err == nil {
		t.Fatalf("Parse(%q) = %v; want an error", args, in)
	}
	return strings.Split(err.Error(), "\n")
}
