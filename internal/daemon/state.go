package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/google/renameio/v2/maybe"

	"riftrelay"
	"riftrelay/internal/admin"
	"riftrelay/internal/config"
	"riftrelay/internal/files"
)

// keeper keeps what the limiter knows in STATE_FILE, so that a restart exceeds
// no limit. Nothing that goes wrong with the file stops the relay.
type keeper struct {
	file    string // "" = nothing is kept
	limiter *riftrelay.Limiter
	log     *slog.Logger
	written func(ok bool) // hears of each writing
	said    string        // the failure to write that was logged last
	last    fs.FileInfo   // of the file as this process wrote it last; nil before
	shared  bool          // another process writes it as well, which was logged
}

const (
	mostState = 64 << 20        // bytes; far beyond what all of Riot's hosts and methods need
	lastSave  = 3 * time.Second // for which a stop waits
)

// load takes over what an earlier process left. A damaged file is set aside.
func (k *keeper) load() {
	if k.file == "" {
		return
	}
	data, err := files.ReadMost(k.file, mostState)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		k.log.Warn("STATE_FILE can't be read, the start knows nothing of before", "error", err.Error())
		return
	}
	got, err := k.limiter.LoadState(bytes.NewReader(data))
	switch {
	case err == nil:
		k.log.Info("state of before taken over", "file", k.file, "age", got.Age.Round(time.Millisecond).String(), "scopes", got.Scopes, "saved", got.Saved)
	case errors.Is(err, riftrelay.ErrState):
		aside := k.aside()
		if renamed := os.Rename(k.file, aside); renamed != nil {
			aside = renamed.Error()
		}
		k.log.Warn("STATE_FILE is damaged and was set aside, the start knows nothing of before", "error", err.Error(), "aside", aside)
	default:
		k.log.Warn("STATE_FILE can't be read, the start knows nothing of before", "error", err.Error())
	}
}

// aside names a file for one that is damaged. Only one is kept, the first: it may be
// of a later version, which can still read it, and the next one is of this.
func (k *keeper) aside() string {
	aside := k.file + ".damaged"
	if _, err := os.Lstat(aside); err == nil {
		aside = k.file + ".damaged2"
	}
	return aside
}

// save writes the file as a whole or not at all (on Windows, where that isn't
// possible, in place). A failure is logged once, not every time.
func (k *keeper) save() {
	if k.file == "" {
		return
	}
	var b bytes.Buffer
	err := k.limiter.SaveState(&b)
	if err == nil {
		k.checkOwner()
		err = maybe.WriteFile(k.file, b.Bytes(), 0o600)
	}
	if err == nil {
		k.last, _ = os.Stat(k.file) // nil where it is gone again
	}
	k.written(err == nil)
	said := ""
	if err != nil {
		said = steady(err)
	}
	if said != k.said && said != "" {
		k.log.Warn("STATE_FILE can't be written: after a restart the relay won't know what was used", "error", err.Error())
	} else if said != k.said {
		k.log.Info("STATE_FILE is written again", "file", k.file)
	}
	k.said = said
}

// checkOwner warns once if another process has written the file since this one did:
// after a restart each would know only what one of them has spent.
func (k *keeper) checkOwner() {
	now, err := os.Stat(k.file)
	if k.shared || k.last == nil || err != nil || os.SameFile(now, k.last) && now.ModTime().Equal(k.last.ModTime()) {
		return
	}
	k.shared = true
	k.log.Warn("another process writes STATE_FILE as well: after a restart each knows only what one of them has used; give each its own file", "file", k.file)
}

// steady is an error without the name of the temporary file, which changes.
func steady(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Op + ": " + p.Err.Error()
	}
	return err.Error()
}

// start saves every now and then. The func it returns ends that, with a last
// save. It doesn't wait for longer than lastSave: the file system may hang.
func (k *keeper) start() (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(riftrelay.StateInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				k.save()
			case <-quit:
				k.save()
				return
			}
		}
	}()
	return func() {
		close(quit)
		select {
		case <-ended:
		case <-time.After(lastSave):
			k.log.Warn("STATE_FILE can't be written in time: after a restart the relay won't know what was used last", "file", k.file, "waited", lastSave.String())
		}
	}
}

// status asks a running relay for its state and prints it.
func (p Process) status(ctx context.Context, o config.StatusOptions) error {
	raw, err := admin.Ask(ctx, o.Addr, "")
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if o.JSON {
		_, err = p.Stdout.Write(raw)
		return err
	}
	_, colored := terminal(p.Stdout)
	if err := admin.Print(p.Stdout, raw, colored && !p.noColor()); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	return nil
}
