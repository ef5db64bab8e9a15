//go:build unix

package files

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"empty": {}, "keys": []byte("a\nb"), "most": make([]byte, most), "huge": make([]byte, most+1)} {
		if err := os.WriteFile(at(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"link": "keys", "link to a pipe": "pipe"} {
		if err := os.Symlink(at(to), at(from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"empty": "", "keys": "", "most": "", "link": "",
		"huge": "too large", "pipe": "want a regular file", "link to a pipe": "want a regular file", ".": "want a regular file", "none": "no such file",
	} {
		data, err := Read(at(name))
		if want == "" && (err != nil || name == "link" && string(data) != "a\nb") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %d bytes, %v; want %q", name, len(data), err, want)
		}
	}
	if _, err := Read("/dev/zero"); err == nil {
		t.Error("a device is read")
	}
}
