// Package files reads what an operator names, whatever stands under the name:
// only regular files, only so much of one, and never for long.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	most    = 4 << 20         // bytes of a file
	longest = 5 * time.Second // of opening and reading, which may hang on a network's file system

	tries        = 50 // of a file that is being written, by another process that starts, say
	betweenTries = 10 * time.Millisecond
)

var errWritten = errors.New("it is being written")

// Open opens a regular file for reading. A pipe, a directory or a device is an
// error, at once.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := regular(name, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(name, info) // another may have taken its place
	}
	if err != nil {
		_ = f.Close() // of a file that wasn't read
		return nil, err
	}
	return f, nil
}

func regular(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("open %s: invalid kind of file %s: want a regular file", name, info.Mode().Type())
	}
	return nil
}

// Read reads a regular file of at most 4 MiB. A file that is written meanwhile is
// read again, and an error if that goes on.
func Read(name string) ([]byte, error) { return ReadMost(name, most) }

// ReadMost is Read for another size.
func ReadMost(name string, size int) ([]byte, error) {
	type outcome struct {
		data []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		data, err := read(name, size)
		for n := 1; n < tries && errors.Is(err, errWritten); n++ {
			time.Sleep(betweenTries)
			data, err = read(name, size)
		}
		done <- outcome{data, err}
	}()
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.data, o.err
	case <-timer.C:
		return nil, fmt.Errorf("read %s: no answer of its file system within %v", name, longest)
	}
}

// Stable is how long a file whose last line has no end has to be as it is. Until
// then that line may be a part of a key.
const Stable = time.Second

// ReadStable is Read for what somebody may be writing at this moment: it waits until
// the last line has its end, or the file has been as it is for the time Stable.
func ReadStable(name string) ([]byte, error) {
	data, err := Read(name)
	if err != nil || ended(data) {
		return data, err
	}
	if info, err := os.Stat(name); err == nil {
		if age := time.Since(info.ModTime()); age >= Stable {
			return data, nil
		}
	}
	began := time.Now()
	for since := began; time.Since(since) < Stable; {
		if time.Since(began) > longest {
			return nil, fmt.Errorf("read %s: %w", name, errWritten)
		}
		time.Sleep(betweenTries)
		again, err := Read(name)
		if err != nil || ended(again) {
			return again, err
		}
		if !bytes.Equal(again, data) {
			data, since = again, time.Now()
		}
	}
	return data, nil
}

// ended reports whether a file's last line has its end. An empty file may be one
// that is about to be written.
func ended(data []byte) bool { return bytes.HasSuffix(data, []byte("\n")) }

func read(name string, size int) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing is written through it
	before, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(size)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > size {
		return nil, fmt.Errorf("read %s: too large: want at most %d bytes", name, size)
	}
	after, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime()) {
		return nil, fmt.Errorf("read %s: %w", name, errWritten)
	}
	return data, nil
}
