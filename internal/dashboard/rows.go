package dashboard

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"riftrelay"
)

// name is what a row is of: a scope, as in riftrelay.ScopeState.
type name struct{ key, host, method string }

// row is one scope: its limits, what waits for it, and what happened recently.
type row struct {
	id    int
	name  name
	seen  int      // the sample that it was last part of
	sent  []byte   // its body as viewers have it; nil when none has
	spare []byte   // memory for the next
	rate  float64  // calls let go a second, lately
	waits [2]waits // of this half minute and the one before
	last  int      // status, as happened.status
	kind  riftrelay.LimitKind
	busy  time.Time // when something last happened
	past  []windowPast

	happening int                   // calls let go since the sample before
	scope     *riftrelay.ScopeState // of this sample; nil when there is none
	queues    []riftrelay.QueueState
}

// windowPast is the past of one window.
type windowPast struct {
	kind   string
	window time.Duration
	past   past
}

// What a window is of: Riot's, or one of a budget, whose name follows.
const (
	ofRiot   = ""
	ofBudget = "budget:"
)

// windows visits all windows of a row.
func (r *row) windows(visit func(kind string, w *riftrelay.WindowState)) {
	if r.scope == nil {
		return
	}
	for i := range r.scope.Windows {
		visit(ofRiot, &r.scope.Windows[i])
	}
	for i := range r.scope.Budgets {
		b := &r.scope.Budgets[i]
		for j := range b.Windows {
			visit(ofBudget+b.Name, &b.Windows[j])
		}
	}
}

// remember keeps what the windows are like at second n.
func (r *row) remember(n int) {
	i := 0
	r.windows(func(kind string, w *riftrelay.WindowState) {
		if i == len(r.past) || r.past[i].kind != kind || r.past[i].window != w.Window {
			at := slices.IndexFunc(r.past, func(p windowPast) bool { return p.kind == kind && p.window == w.Window })
			if at < 0 {
				r.past = slices.Insert(r.past, i, windowPast{kind: kind, window: w.Window})
			} else {
				r.past[i], r.past[at] = r.past[at], r.past[i]
			}
		}
		r.past[i].past.add(n, w.Limit, w.Used, w.Others+w.Peers)
		i++
	})
	r.past = r.past[:i]
}

// happened adds what happened since the sample before.
func (r *row) happened(h *happened, now time.Time) {
	r.waits[0].add(&h.waits)
	if h.status != 0 {
		r.last, r.kind = h.status, h.kind
	}
	if h.sent > 0 || h.status != 0 {
		r.busy = now
	}
}

// encode brings the body up to this sample, and reports whether it has changed.
func (r *row) encode() (changed bool) {
	body := r.appendBody(r.spare[:0])
	if bytes.Equal(body, r.sent) {
		r.spare = body
		return false
	}
	r.sent, r.spare = body, r.sent
	return true
}

// appendJSON adds the row to a list, with or without the names for its id.
func (r *row) appendJSON(b []byte, names bool) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	b = append(b, `{"id":`...)
	b = append(strconv.AppendInt(b, int64(r.id), 10), ',')
	if names {
		b = r.appendNames(b)
	}
	b = append(b, r.sent...)
	return append(b, '}')
}

// appendNames writes the part of a row that never changes.
func (r *row) appendNames(b []byte) []byte {
	b = append(b, `"key":`...)
	b = appendText(b, r.name.key)
	b = append(b, `,"host":`...)
	b = appendText(b, r.name.host)
	b = append(b, `,"method":`...)
	b = appendText(b, r.name.method)
	return append(b, ',')
}

// appendBody writes the part that does. Times are milliseconds; what is 0 or
// empty is left out where that is common.
func (r *row) appendBody(b []byte) []byte {
	number := func(field string, v float64) {
		if v != 0 {
			b = append(b, '"')
			b = append(b, field...)
			b = append(b, `":`...)
			b = strconv.AppendFloat(b, v, 'f', -1, 64)
			b = append(b, ',')
		}
	}
	number("rate", math.Round(r.rate*10)/10)
	if r.waits[0].n+r.waits[1].n > 0 {
		number("p50", r.waits[0].percentile(0.5, &r.waits[1]))
		number("p95", r.waits[0].percentile(0.95, &r.waits[1]))
		number("waits", 1)
	}
	number("status", float64(r.last))
	if r.kind != "" {
		b = append(b, `"kind":`...)
		b = append(appendText(b, string(r.kind)), ',')
	}
	if s := r.scope; s != nil {
		if s.Known {
			number("known", 1)
		}
		number("halved", float64(s.Halved))
		number("flight", float64(s.InFlight))
		if s.Cooldown > 0 {
			number("cool", float64(s.Cooldown.Milliseconds()))
			b = append(b, `"cause":`...)
			b = append(appendText(b, string(s.Cause)), ',')
		}
	}
	b = r.appendQueues(b)
	b = append(b, `"w":[`...)
	r.windows(func(kind string, w *riftrelay.WindowState) {
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = appendText(b, kind)
		for _, v := range [...]int64{int64(w.Limit), w.Window.Milliseconds(), int64(w.Used), int64(w.Others), int64(w.Peers), int64(w.InFlight), w.ResetIn.Milliseconds()} {
			b = append(b, ',')
			b = strconv.AppendInt(b, v, 10)
		}
		b = append(b, ']')
	})
	return append(b, ']')
}

func (r *row) appendQueues(b []byte) []byte {
	if len(r.queues) == 0 {
		return b
	}
	b = append(b, `"q":[`...)
	for i, q := range r.queues {
		if i > 0 {
			b = append(b, ',')
		}
		start, why := int64(unknown), ""
		if q.Start != riftrelay.Unknown {
			start = q.Start.Milliseconds()
		}
		if q.Why.Kind != "" {
			why = q.Why.String()
		}
		b = append(b, '[')
		b = append(appendText(b, q.Priority.String()), ',')
		b = append(appendText(b, q.Budget), ',')
		b = append(strconv.AppendInt(b, int64(q.Depth), 10), ',')
		b = append(strconv.AppendInt(b, q.Oldest.Milliseconds(), 10), ',')
		b = append(strconv.AppendInt(b, start, 10), ',')
		b = append(appendText(b, q.Why.Key), ',')
		b = append(appendText(b, string(q.Why.Kind)), ',')
		b = append(appendText(b, why), ']')
	}
	return append(b, ']', ',')
}

// appendText writes a string as JSON.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f || c == '<' || c == '>' || c == '&' {
			text, err := json.Marshal(s)
			if err != nil {
				panic("BUG: " + err.Error())
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
