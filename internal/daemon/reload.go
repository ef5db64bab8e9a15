package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"riftrelay/internal/admin"
)

// settle is how long the token file has to be left alone before it is read:
// editors write in several steps.
const settle = 200 * time.Millisecond

// reloading reads the keys again when their file changes and when r.hangup says
// so, until ctx ends. The directory is watched, not the file: editors and
// Kubernetes put another file in its place.
func (r *relay) reloading(ctx context.Context) {
	var events <-chan fsnotify.Event
	var failures <-chan error
	if file := r.settings.KeyFile; file != "" {
		w, err := fsnotify.NewWatcher()
		if err == nil {
			defer w.Close() //nolint:errcheck // nothing is written through it
			err = w.Add(filepath.Dir(file))
		}
		if err != nil { // too many watches, or a file system without: SIGHUP is left
			r.log.Warn("RIOT_TOKEN_FILE can't be watched; a SIGHUP has it read again", "error", err.Error())
		} else {
			events, failures = w.Events, w.Errors
		}
	}
	timer := time.NewTimer(settle) // it may have changed since it was read
	defer timer.Stop()
	if events == nil {
		timer.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.hangup:
			_, _ = r.reload("SIGHUP") // it is logged
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if r.concerns(e) {
				timer.Reset(settle)
			}
		case err, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			r.log.Warn("watching RIOT_TOKEN_FILE", "error", err.Error())
			timer.Reset(settle) // events may have been lost
		case <-timer.C:
			_, _ = r.reload("file") // it is logged
		}
	}
}

// concerns reports whether an event may have changed what the token file says.
// In a Kubernetes volume the file is a link to ..data/file, and ..data is what
// changes.
func (r *relay) concerns(e fsnotify.Event) bool {
	if e.Op&^fsnotify.Chmod == 0 {
		return false
	}
	name := filepath.Base(e.Name)
	return name == filepath.Base(r.settings.KeyFile) || strings.HasPrefix(name, "..")
}

// reload takes over the keys as they are written now, and gives what changed.
// What is wrong with them is logged, and the old ones stay.
func (r *relay) reload(why string) (admin.Reloaded, error) {
	r.reloads.Lock()
	defer r.reloads.Unlock()
	keys, err := r.settings.ReloadKeys()
	old := *r.keys.Load()
	if err == nil && why == "file" && slices.Equal(keys, old) {
		return admin.Changes(old, keys), nil // one writing makes several events
	}
	if err == nil {
		err = r.limiter.SetKeys(keys)
	}
	r.meters.Reloaded(err == nil)
	if err != nil {
		err = errors.New(hideKeys(oneLine(err)))
		r.log.Error("keys are as they were: they can't be read again", "why", why, "error", err.Error())
		return admin.Reloaded{}, err
	}
	r.keys.Store(&keys)
	r.health.forget()
	changes := admin.Changes(old, keys)
	r.log.Info("keys read again", "why", why, "keys", len(keys), "names", keyNames(keys),
		"added", len(changes.Added), "replaced", len(changes.Replaced), "removed", len(changes.Removed))
	return changes, nil
}

func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		parts = append(parts, strings.TrimSpace(line))
	}
	return strings.Join(parts, "; ")
}
