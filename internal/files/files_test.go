//go:build unix

package files

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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

// A file that others replace is read as one of them has it.
func TestReplacedWhileRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	text := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), 64<<10+i%2) + "\n" }
	whole := map[string]bool{}
	for i := range 26 {
		whole[text(i)] = true
	}
	if err := os.WriteFile(name, []byte(text(0)), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var busy sync.WaitGroup
	busy.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-ended:
				return
			default:
			}
			if os.WriteFile(name+".new", []byte(text(i)), 0o600) == nil {
				_ = os.Rename(name+".new", name)
			}
		}
	})
	for range 300 {
		data, err := Read(name)
		if err != nil || !whole[string(data)] {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	}
	close(ended)
	busy.Wait()
}

// What has no end of its last line may be half of a key, also at the start.
func TestUnfinishedLineWaits(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("half")
	var busy sync.WaitGroup
	busy.Go(func() { time.Sleep(Stable / 2); write("half a key") })
	begin := time.Now()
	data, err := ReadStable(name)
	if took := time.Since(begin); err != nil || string(data) != "half a key" || took < Stable*3/2-50*time.Millisecond || took > longest {
		t.Errorf("%q, %v after %v", data, err, took)
	}
	busy.Wait()
	for text, age := range map[string]time.Duration{"whole\n": 0, "": Stable, "old": Stable} {
		write(text)
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		begin = time.Now()
		if data, err := ReadStable(name); err != nil || string(data) != text || time.Since(begin) > Stable/2 {
			t.Errorf("%q: %q, %v after %v", text, data, err, time.Since(begin))
		}
	}
	if _, err := ReadStable(name + ".none"); err == nil {
		t.Error("no file, and no error")
	}
}

// A file that is written on and on is an error, not half of what it will be.
func TestWrittenOnAndOn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	ended := make(chan struct{})
	var busy sync.WaitGroup
	defer busy.Wait()
	defer close(ended)
	first := make(chan struct{})
	busy.Go(func() {
		for i := 0; ; i++ {
			_ = os.WriteFile(name, []byte(strconv.Itoa(i)), 0o600)
			if i == 0 {
				close(first)
			}
			select {
			case <-ended:
				return
			case <-time.After(300 * time.Millisecond):
			}
		}
	})
	<-first
	if data, err := ReadStable(name); err == nil {
		t.Errorf("%q", data)
	}
}
