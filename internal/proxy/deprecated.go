package proxy

import (
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const traceID, deprecated = "X-Riot-Edge-Trace-Id", "X-Riot-Deprecated"

// deprecations warns once of each method that Riot is going to switch off.
type deprecations struct {
	warned sync.Map // *route.Method → nothing; as many as the table has
}

// look reads what an answer says of itself: R15.
func (h *Handler) look(c *call, status int, header http.Header) {
	if status >= 400 {
		c.edgeTrace = first(header[traceID])
	}
	vv := header[deprecated]
	if len(vv) == 0 || c.route.Method == nil {
		return
	}
	m := c.route.Method
	end := epoch(vv[0])
	h.observer.Deprecated(m, end)
	if _, known := h.deprecations.warned.LoadOrStore(m, nil); known {
		return
	}
	attrs := []any{slog.String("method", m.String())}
	if !end.IsZero() {
		attrs = append(attrs, slog.Time("end", end))
	}
	h.log.Warn("Riot has deprecated a method that is being called", attrs...)
}

// epoch reads milliseconds since 1970. What can't be a date is the zero Time.
func epoch(s string) time.Time {
	const year3000 = 32_503_680_000_000
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil || ms <= 0 || ms > year3000 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
