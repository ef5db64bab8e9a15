package daemon

import (
	"context"
	"crypto/sha256"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long files have to be left alone before they are read: editors
// write in several steps.
const settle = 200 * time.Millisecond

// watched are files that are read again together.
type watched struct {
	setting string // that names them
	files   []string
	again   func(why string)

	seen  [sha256.Size]byte // of files with an unfinished line
	since time.Time         // they are as seen
}

// watches lists what may change while the relay serves.
func (r *relay) watches() []watched {
	list := []watched{
		{setting: "RIOT_TOKEN_FILE", again: func(why string) { _, _ = r.reload(why) }}, // it is logged
		{setting: "CLIENT_TOKENS_FILE", again: r.reloadClients},
		{setting: "TLS_CERT_FILE", again: r.reloadCertificate},
	}
	for i, files := range [...][]string{{r.settings.KeyFile}, {r.settings.TokenFile}, {r.settings.CertFile, r.settings.CertKeyFile}} {
		for _, file := range files {
			if file != "" {
				list[i].files = append(list[i].files, file)
			}
		}
	}
	return list
}

// reloading reads files again when they change, and all when r.hangup says so,
// until ctx ends. Directories are watched, not files: editors and Kubernetes put
// another file in the place of one.
func (r *relay) reloading(ctx context.Context) {
	list := r.watches()
	due := make([]bool, len(list))
	w, err := fsnotify.NewWatcher()
	var events <-chan fsnotify.Event
	var failures <-chan error
	if err == nil {
		defer w.Close() //nolint:errcheck // nothing is written through it
		events, failures = w.Events, w.Errors
	}
	for i, one := range list {
		for _, file := range one.files {
			failed := err
			if failed == nil {
				failed = w.Add(filepath.Dir(file))
			}
			if failed != nil { // too many watches, or a file system without: SIGHUP is left
				r.log.Warn(one.setting+" can't be watched; a SIGHUP has it read again", "error", failed.Error())
				break
			}
			due[i] = true // it may have changed since it was read
		}
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.hangup:
			for i := range list {
				if list[i].unfinished(time.Now()) > 0 {
					due[i] = true
					timer.Reset(settle)
					continue
				}
				list[i].again("SIGHUP")
			}
		case e, ok := <-events:
			if !ok {
				events = nil
			}
			for i, one := range list {
				if ok && one.concerns(e) {
					due[i] = true
					timer.Reset(settle)
				}
			}
		case err, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			r.log.Warn("watching files", "error", err.Error())
			for i, one := range list { // events may have been lost
				due[i] = len(one.files) > 0
			}
			timer.Reset(settle)
		case <-timer.C:
			for i := range list {
				if !due[i] {
					continue
				}
				if list[i].unfinished(time.Now()) > 0 {
					timer.Reset(settle)
					continue
				}
				due[i] = false
				list[i].again("file")
			}
		}
	}
}

// concerns reports whether an event may have changed what the files say. In a
// Kubernetes volume a file is a link to ..data/file, and ..data is what changes.
func (w watched) concerns(e fsnotify.Event) bool {
	if e.Op&^fsnotify.Chmod == 0 {
		return false
	}
	dir, name := filepath.Split(e.Name)
	for _, file := range w.files {
		if filepath.Clean(dir) == filepath.Dir(file) && (name == filepath.Base(file) || strings.HasPrefix(name, "..")) {
			return true
		}
	}
	return false
}
