package config

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker in release builds, with -X riftrelay/internal/config.version=v1.2.0, and never changes.
var version string

// BuildVersion is the version of this program: what the linker was told, otherwise what the Go tool recorded, a tag ("v1.2.0")
// or a pseudo-version made from the commit, otherwise "devel".
func BuildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// VersionText is BuildVersion with what the program was built by and for.
func VersionText() string {
	return fmt.Sprintf("%s (%s, %s/%s)", BuildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
