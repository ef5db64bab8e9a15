package top

import (
	"fmt"
	"strings"
	"time"
)

// Lines that aren't rows: two of the head, the store's or a blank one, the
// headings; then a rule, the selected row's details and the keys.
const (
	headLines   = 4
	detailLines = 6
	footLines   = 1 + detailLines + 1
)

// room is how many rows there is room for.
func (m *Model) room() int { return max(1, m.h-headLines-footLines) }

// frame is the lines to show. A terminal may have no colours, so nothing is told
// by colour alone.
func (m *Model) frame() []string {
	lines := m.lines()
	for i, l := range lines {
		lines[i] = cut(l, m.w)
	}
	return lines[:min(len(lines), m.h)]
}

const (
	bold    = "1"
	dim     = "2"
	inverse = "7"
	red     = "31"
	green   = "32"
	yellow  = "33"
)

func paint(code, s string) string {
	if s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[m"
}

func (m *Model) lines() []string {
	lines := m.head()
	g := m.grid()
	lines = append(lines, m.shared(), paint(dim, g.names("  ", "key", "host", "scope", "window")+left("", g.bar)+numbers("used", "others", "waiting")))
	for i := range m.room() {
		if at := m.first + i; at < len(m.visible) {
			lines = append(lines, g.row(m.visible[at], at == m.at()))
		} else {
			lines = append(lines, "")
		}
	}
	if len(m.visible) == 0 {
		lines[headLines] = m.nothing()
	}
	lines = append(lines, paint(dim, strings.Repeat("─", max(1, m.w))))
	detail := m.detail()
	for i := range detailLines {
		if i < len(detail) {
			lines = append(lines, detail[i])
		} else {
			lines = append(lines, "")
		}
	}
	return append(lines, m.foot())
}

func (m *Model) nothing() string {
	switch {
	case m.state == nil && m.failed == nil:
		return "  asking …"
	case m.state == nil:
		return "  " + paint(red, "no answer yet; trying again every second")
	case m.filter != "":
		return "  nothing fits the filter; esc clears it"
	}
	return "  no call has been made yet"
}

func (m *Model) head() []string {
	first := paint(bold, "riftrelay") + " " + m.relay
	s := m.state
	if s == nil {
		return []string{first, m.trouble()}
	}
	first += "  " + s.At.UTC().Format(time.TimeOnly) + fmt.Sprintf("  pacing %s  margin %s", pacing(s.Pacing), s.Margin)
	if s.Draining {
		first += "  " + paint(yellow, "draining")
	}
	if m.paused {
		first += "  " + paint(yellow, "paused")
	}
	if m.failed != nil {
		return []string{first, m.trouble()}
	}
	second := fmt.Sprintf("queued %d  in flight %d  ", s.Queued, s.InFlight)
	usable, bad := 0, ""
	for _, k := range s.Keys {
		if k.Usable {
			usable++
		} else {
			bad += fmt.Sprintf("  %s %s", k.Name, k.State)
		}
	}
	keys := fmt.Sprintf("keys %d of %d usable", usable, len(s.Keys))
	if usable < len(s.Keys) {
		keys = paint(red, keys+":"+bad)
	}
	return []string{first, second + keys}
}

// shared is the store's line, as long as it is new.
func (m *Model) shared() string {
	if m.state == nil || m.failed != nil {
		return ""
	}
	return m.state.Store.line()
}

// trouble says since when, and why, what is shown is old.
func (m *Model) trouble() string {
	if m.failed == nil {
		return ""
	}
	since := ""
	if m.state != nil {
		since = " since " + m.state.At.UTC().Format(time.TimeOnly)
	}
	return paint(red, "no answer"+since+": "+clean(m.failed.Error()))
}

func pacing(b float64) string {
	switch b {
	case 0:
		return "spread"
	case 0.5:
		return "balanced"
	case 1:
		return "burst"
	}
	return fmt.Sprint(b)
}

// detail tells of the selected row why its calls wait, then all its windows.
func (m *Model) detail() []string {
	if len(m.visible) == 0 {
		return nil
	}
	r := m.visible[m.at()]
	title := paint(bold, strings.TrimSpace(r.key+" "+r.host+" "+r.name()))
	if r.stopped > 0 {
		title += paint(red, fmt.Sprintf("  stopped for %s by a 429 (%s)", r.stopped, r.cause))
	}
	if r.halved > 0 {
		title += paint(red, fmt.Sprintf("  uses 1/%d of its limits after too many 429s", 1<<r.halved))
	}
	lines := []string{title}
	for _, q := range r.queues {
		lines = append(lines, m.wrap(q.why())...)
	}
	windows := fmt.Sprintf("in flight %d", r.inFlight)
	for _, w := range r.windows {
		windows += fmt.Sprintf("  %s", w.Window)
		windows += fmt.Sprintf(" %d/%d", w.Used, w.Limit)
		if w.Peers > 0 {
			windows += fmt.Sprintf(" (%d by other replicas)", w.Peers)
		}
		if w.Used > 0 {
			windows += " reset " + w.Reset.String()
		}
	}
	return append(lines, m.wrap(windows)...)
}

// wrap breaks a text into lines, set in by two cells.
func (m *Model) wrap(text string) []string {
	lines := wrap(text, max(1, m.w-2))
	for i, l := range lines {
		lines[i] = "  " + l
	}
	return lines
}

func (q queue) why() string {
	who := fmt.Sprintf("%d %s", q.Depth, q.Priority)
	if q.Budget != "" {
		who += " of " + string(q.Budget)
	}
	if q.Why == nil {
		return who + " waiting for " + q.Oldest.String()
	}
	text := who + " waiting for " + q.Oldest.String() + ": "
	if q.Why.Key != "" {
		text += string(q.Why.Key) + ": "
	}
	return text + string(q.Why.Text)
}

func (m *Model) foot() string {
	if m.typing {
		return "filter: " + m.filter + "█  enter keeps it, esc clears it"
	}
	text := "↑↓ select  / filter"
	if m.filter != "" {
		text += " (" + m.filter + ")"
	}
	text += "  s sort: " + m.sort.String() + "  p " + map[bool]string{false: "pause", true: "go on"}[m.paused] + "  q quit"
	if n := len(m.visible); n > m.room() {
		text += fmt.Sprintf("  %d-%d of %d", m.first+1, min(n, m.first+m.room()), n)
	}
	return paint(dim, text)
}
