package daemon

import (
	"bytes"
	"log"
	"log/slog"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// libraries has the libraries of this process say what they have to say through
// our log, and so past the filter of keys: net/http's client quotes what an
// upstream sends unasked, and OpenTelemetry writes to the standard error stream.
// redisstore.LogTo does the same for Redis's client.
func libraries(l *slog.Logger) {
	log.SetFlags(0)
	log.SetPrefix("")
	log.SetOutput(&libraryWriter{l})
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		l.Warn("traces: trouble", "error", err.Error())
	}))
	otel.SetLogger(logr.FromSlogHandler(l.With("library", "opentelemetry").Handler()))
}

// libraryWriter makes a line of our log of what a library logs.
type libraryWriter struct{ log *slog.Logger }

// mostOfLibrary bounds a line: it may quote what somebody else has sent.
const mostOfLibrary = 500

// Write takes one message.
func (w *libraryWriter) Write(text []byte) (int, error) {
	message := string(bytes.TrimSpace(text))
	if len(message) > mostOfLibrary {
		message = strings.ToValidUTF8(message[:mostOfLibrary], "") + "…"
	}
	w.log.Warn("a library has something to say", "message", message)
	return len(text), nil
}
