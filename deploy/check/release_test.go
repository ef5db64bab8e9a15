package check

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// Read as goreleaser reads it: a name that it doesn't know is an error.
func TestReleaseConfig(t *testing.T) {
	p, err := config.Load(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Version != 2 || len(p.Builds) != 1 || len(p.Archives) != 1 || len(p.SBOMs) == 0 || p.Checksum.NameTemplate == "" {
		t.Fatalf("version %d, %d builds, %d archives, %d SBOMs, checksums in %q", p.Version, len(p.Builds), len(p.Archives), len(p.SBOMs), p.Checksum.NameTemplate)
	}
	b := p.Builds[0]
	if !slices.Equal(b.Goos, []string{"linux", "darwin", "windows"}) || !slices.Equal(b.Goarch, []string{"amd64", "arm64"}) {
		t.Errorf("built for %q on %q", b.Goos, b.Goarch)
	}
	for _, f := range append(sources(p.Archives[0].Files), b.Main) {
		if found, err := filepath.Glob(filepath.Join(root, f)); err != nil || len(found) == 0 {
			t.Errorf("%s goes into the release, and isn't there (%v)", f, err)
		}
	}
}

func sources(files []config.File) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.Source)
	}
	return names
}

// Image, release and image.sh build the same program.
func TestOneWayToBuild(t *testing.T) {
	linked := regexp.MustCompile(`-s -w -X riftrelay/internal/config\.version=`)
	for _, name := range []string{"Dockerfile", "deploy/image.sh", ".goreleaser.yaml"} {
		text := read(t, name)
		for _, want := range []string{"CGO_ENABLED=0", "-trimpath", "-buildvcs=false"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s builds without %s", name, want)
			}
		}
		if !linked.MatchString(text) {
			t.Errorf("%s links without the version", name)
		}
	}
	if !strings.Contains(read(t, "internal/config/version.go"), "\nvar version string\n") {
		t.Error("internal/config has no variable version for the linker to set")
	}
}
