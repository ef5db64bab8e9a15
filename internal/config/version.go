package config

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// BuildVersion is the version of this program as the Go tool recorded it: a tag ("v1.2.0"), a pseudo-version made from the
// commit, or "devel" for a build outside version control.
func BuildVersion() string {
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
