package daemon

import (
	"bytes"
	"io"
	"log"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lmittmann/tint"

	"riftrelay"
	"riftrelay/internal/config"
)

// newLogger makes the log that the settings ask for: JSON for machines, text
// for people, colours on a terminal.
func newLogger(w io.Writer, s *config.Settings, noColor bool) *slog.Logger {
	_, onTerminal := terminal(w)
	guard := &keyGuard{w: w}
	guard.know(s.Keys())
	if s.LogFormat == "json" || s.LogFormat == "auto" && !onTerminal {
		return slog.New(guarded{slog.NewJSONHandler(guard, &slog.HandlerOptions{Level: s.LogLevel}), guard})
	}
	return slog.New(guarded{tint.NewTextHandler(guard, &tint.Options{
		Level: s.LogLevel, TimeFormat: time.TimeOnly, NoColor: noColor || !onTerminal,
	}), guard})
}

// guarded is a handler whose lines pass through a keyGuard.
type guarded struct {
	slog.Handler
	guard *keyGuard
}

func (h guarded) WithAttrs(attrs []slog.Attr) slog.Handler {
	return guarded{h.Handler.WithAttrs(attrs), h.guard}
}

func (h guarded) WithGroup(name string) slog.Handler {
	return guarded{h.Handler.WithGroup(name), h.guard}
}

// guardOf returns the filter of a log of newLogger's, and one that knows no keys
// for any other log.
func guardOf(l *slog.Logger) *keyGuard {
	if h, ok := l.Handler().(guarded); ok {
		return h.guard
	}
	return &keyGuard{}
}

// keyGuard takes keys out of whatever is logged. No part of the relay logs
// one; this is for the text of an error that nobody thought of.
type keyGuard struct {
	w    io.Writer
	keys atomic.Pointer[[]riftrelay.Key]
}

// know replaces the keys that are taken out besides those of Riot's form.
func (g *keyGuard) know(keys []riftrelay.Key) { g.keys.Store(&keys) }

// leastKey is the length from which on a text can be no word of a log by
// chance. Riot's keys have 42 characters.
const leastKey = 16

// Write takes a whole line, as the handlers of slog write.
func (g *keyGuard) Write(line []byte) (int, error) {
	safe := line
	if keyForm.Match(safe) {
		safe = keyForm.ReplaceAll(safe, []byte(hidden))
	}
	for _, k := range g.known() {
		if len(k.Value) >= leastKey && bytes.Contains(safe, []byte(k.Value)) {
			safe = bytes.ReplaceAll(safe, []byte(k.Value), []byte(hidden))
		}
	}
	if _, err := g.w.Write(safe); err != nil {
		return 0, err
	}
	return len(line), nil
}

// hide takes keys out of a text that isn't logged.
func (g *keyGuard) hide(text string) string {
	text = hideKeys(text)
	for _, k := range g.known() {
		if len(k.Value) >= leastKey {
			text = strings.ReplaceAll(text, k.Value, hidden)
		}
	}
	return text
}

func (g *keyGuard) known() []riftrelay.Key {
	if keys := g.keys.Load(); keys != nil {
		return *keys
	}
	return nil
}

// holdsKey reports whether a text has a key in it.
func holdsKey(text string, keys []riftrelay.Key) bool {
	for _, k := range keys {
		if len(k.Value) >= leastKey && strings.Contains(text, k.Value) {
			return true
		}
	}
	return false
}

const hidden = "(hidden key)"

var keyForm = regexp.MustCompile(`(?i)RGAPI-[0-9a-z_-]+`)

func hideKeys(s string) string { return keyForm.ReplaceAllLiteralString(s, hidden) }

// serverLog turns what net/http has to say into lines of our log: mostly
// clients that leave in the middle, but also panics of handlers.
func serverLog(l *slog.Logger, server string) *log.Logger {
	return log.New(&serverWriter{sparing{log: l.With("server", server)}}, "", 0)
}

type serverWriter struct{ log sparing }

// Write takes one message.
func (w *serverWriter) Write(text []byte) (int, error) {
	message := string(bytes.TrimSpace(text))
	switch {
	case bytes.Contains(text, []byte("panic serving")):
		w.log.say(slog.LevelError, "panic", "handler panicked, its connection was closed", "error", message)
	case bytes.Contains(text, []byte("TLS handshake error")):
		w.log.say(slog.LevelWarn, "handshake", "connection trouble", "error", message)
	default:
		w.log.say(slog.LevelWarn, "connection", "connection trouble", "error", message)
	}
	return len(text), nil
}
