package top

import (
	"cmp"
	"fmt"
	"strings"
)

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
		g.key, g.host = max(g.key, width(r.key)), max(g.host, width(r.host))
		longest = max(longest, width(r.name()))
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

// left is a text in a column of n cells.
func left(s string, n int) string {
	s = cut(s, n)
	return s + strings.Repeat(" ", max(0, n-width(s)))
}

// tail is left with the end of a text that is too long: methods differ there.
func tail(s string, n int) string {
	return left(cutLeft(s, n), n)
}
