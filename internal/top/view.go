package top

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Lines that aren't rows: two of the head, a blank one, the headings; then a
// rule, the selected row's details and the keys.
const (
	headLines   = 4
	detailLines = 6
	footLines   = 1 + detailLines + 1
)

// room is how many rows there is room for.
func (m *Model) room() int { return max(1, m.h-headLines-footLines) }

// View draws. Colours that the terminal can't show, or nobody wants, bubbletea
// leaves out, so nothing may be told by colour alone.
func (m *Model) View() tea.View {
	lines := m.lines()
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, m.w, "…")
	}
	v := tea.NewView(strings.Join(lines[:min(len(lines), m.h)], "\n"))
	v.AltScreen = true
	v.WindowTitle = "riftrelay top"
	return v
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
	lines = append(lines, "", paint(dim, g.names("  ", "key", "host", "scope", "window")+left("", g.bar)+numbers("used", "others", "waiting")))
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
	first += "  " + s.At.UTC().Format(time.TimeOnly) + fmt.Sprintf("  pacing %s  J %s", pacing(s.Pacing), s.Margin)
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
	case 1:
		return "burst"
	}
	return fmt.Sprint(b)
}

// grid is how wide the columns are. What a terminal has more than 80 columns
// goes to the names of methods, then to the bars.
type grid struct{ key, host, scope, bar int }

const (
	fixedCells = len("> ") + len(" ") + len(" ") + len(" 120min ") + len(" 12345/20000 others waiting")
	leastBar   = 8
	mostScope  = 60
)

func (m *Model) grid() grid {
	g := grid{key: len("key"), host: len("host"), bar: leastBar}
	longest := len("application")
	for _, r := range m.visible {
		g.key, g.host = max(g.key, ansi.StringWidth(r.key)), max(g.host, ansi.StringWidth(r.host))
		longest = max(longest, ansi.StringWidth(r.name()))
	}
	g.key, g.host = min(g.key, 10), min(g.host, 11)
	rest := m.w - fixedCells - g.key - g.host - g.bar
	g.scope = max(8, min(rest, longest, mostScope))
	g.bar += min(20, max(0, rest-g.scope))
	return g
}

// names is what stands left of the bar, numbers what stands right of it.
func (g grid) names(mark, key, host, scope, window string) string {
	return fmt.Sprintf("%s%s %s %s %6s ", mark, left(key, g.key), left(host, g.host), tail(scope, g.scope), window)
}

func numbers(used, others, waiting string) string {
	return fmt.Sprintf(" %11s %6s %7s", used, others, waiting)
}

func (g grid) row(r row, picked bool) string {
	var used, others, waiting, length string
	bar, code := "", dim
	if w, found := r.fullest(); found {
		bar, code = w.bar(g.bar)
		used, length = fmt.Sprintf("%d/%d", w.Used, w.Limit), w.Window.String()
		if w.Others > 0 {
			others = fmt.Sprint(w.Others)
		}
	}
	if r.stopped > 0 {
		bar, code = "429 "+r.stopped.String(), red
	}
	if r.waiting > 0 {
		waiting = fmt.Sprint(r.waiting)
	}
	mark := "  "
	if picked {
		mark = "> "
	}
	before, after := g.names(mark, cmp.Or(r.key, "-"), r.host, r.name(), length), numbers(used, others, waiting)
	if picked {
		return paint(inverse, before) + paint(code, left(bar, g.bar)) + paint(inverse, after)
	}
	return before + paint(code, left(bar, g.bar)) + after
}

// bar shows a window: what we use of it, what others do, and the rest.
func (w window) bar(cells int) (bar, code string) {
	used := min(cells, (cells*w.Used+w.Limit-1)/max(1, w.Limit))
	others := min(used, (cells*w.Others+w.Limit-1)/max(1, w.Limit))
	switch {
	case w.Used >= w.Limit:
		code = red
	case 10*w.Used > 7*w.Limit:
		code = yellow
	default:
		code = green
	}
	return strings.Repeat("█", used-others) + strings.Repeat("▒", others) + strings.Repeat("░", cells-used), code
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
		if w.own {
			windows += " own limit"
		}
		windows += fmt.Sprintf(" %d/%d", w.Used, w.Limit)
		if w.Used > 0 {
			windows += " reset " + w.Reset.String()
		}
	}
	return append(lines, m.wrap(windows)...)
}

// wrap breaks a text into lines, set in by two cells.
func (m *Model) wrap(text string) []string {
	lines := strings.Split(ansi.Wrap(text, max(1, m.w-2), ""), "\n")
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

// left is a text in a column of n cells.
func left(s string, n int) string {
	s = ansi.Truncate(s, n, "…")
	return s + strings.Repeat(" ", max(0, n-ansi.StringWidth(s)))
}

// tail is left with the end of a text that is too long: methods differ there.
func tail(s string, n int) string {
	if w := ansi.StringWidth(s); w > n {
		s = ansi.TruncateLeft(s, w-n+1, "…")
	}
	return left(s, n)
}
