package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"riftrelay"
)

type hostView struct {
	Name         string
	Windows      []riftrelay.WindowState // of the application
	Stopped      time.Duration           // left of a stop after a 429
	Queued, High int
	Oldest       time.Duration
	Methods      []methodView // by template
}

type methodView struct {
	Template     string
	Name         string                // short, for people; "" = none
	Window       riftrelay.WindowState // the fullest; zero = not known yet
	Queued, High int
}

// hostsOf arranges a snapshot by host. There is one key. names are short names
// of methods.
func hostsOf(s riftrelay.Snapshot, names map[string]string) []hostView {
	var hosts []hostView
	at := func(name string) *hostView {
		i := slices.IndexFunc(hosts, func(h hostView) bool { return h.Name == name })
		if i < 0 {
			i = len(hosts)
			hosts = append(hosts, hostView{Name: name})
		}
		return &hosts[i]
	}
	for _, sc := range s.Scopes {
		h := at(sc.Host)
		if sc.Method == "" {
			h.Windows = sc.Windows
			h.Stopped = max(h.Stopped, sc.Cooldown)
			continue
		}
		m := h.method(sc.Method)
		for _, w := range sc.Windows {
			if m.Window.Limit == 0 || share(w) > share(m.Window) {
				m.Window = w
			}
		}
	}
	for _, q := range s.Queues {
		h := at(q.Host)
		m := h.method(q.Method)
		h.Queued += q.Depth
		m.Queued += q.Depth
		if q.Priority == riftrelay.High {
			h.High += q.Depth
			m.High += q.Depth
		}
		h.Oldest = max(h.Oldest, q.Oldest)
	}
	for _, h := range hosts {
		slices.SortFunc(h.Methods, func(a, b methodView) int { return cmp.Compare(a.Template, b.Template) })
		for i, m := range h.Methods {
			h.Methods[i].Name = names[m.Template]
		}
	}
	return hosts
}

func (h *hostView) method(template string) *methodView {
	i := slices.IndexFunc(h.Methods, func(m methodView) bool { return m.Template == template })
	if i < 0 {
		i = len(h.Methods)
		h.Methods = append(h.Methods, methodView{Template: template})
	}
	return &h.Methods[i]
}

func (h hostView) lines(g grid, methods int, c ink) []string {
	head := c.in(bold, pad(h.Name, g.label))
	switch {
	case h.Stopped > 0:
		head += c.in(red, "stopped by a 429 for "+short(h.Stopped))
	case h.Queued > 0:
		head += fmt.Sprintf("queued %s, oldest %s", depth(h.Queued, h.High), short(h.Oldest))
	default:
		head += c.in(dim, "nothing waits")
	}
	out := []string{clipPainted(head, g.width)}
	label := "application"
	for _, w := range h.Windows {
		out = append(out, windowLine(g, label, cyan, w, "", c))
		label = ""
	}
	for _, m := range h.busiest(methods) {
		queued := ""
		if m.Queued > 0 {
			queued = "queued " + depth(m.Queued, m.High)
		}
		out = append(out, windowLine(g, m.label(g), green, m.Window, queued, c))
	}
	return out
}

// busiest picks methods that tell most, and leaves them in their order, so that
// lines stay where they are.
func (h hostView) busiest(n int) []methodView {
	if n >= len(h.Methods) {
		return h.Methods
	}
	rank := slices.Clone(h.Methods)
	slices.SortStableFunc(rank, func(a, b methodView) int {
		return cmp.Or(cmp.Compare(b.tight(), a.tight()), cmp.Compare(perSecond(b.Window), perSecond(a.Window)))
	})
	rank = rank[:n]
	slices.SortFunc(rank, func(a, b methodView) int { return cmp.Compare(a.Template, b.Template) })
	return rank
}

// tight is the share of a limit that matters: nobody minds 1 % more or less.
func (m methodView) tight() float64 {
	if s := share(m.Window); s >= 0.1 {
		return s
	}
	return 0
}

func perSecond(w riftrelay.WindowState) float64 {
	if w.Window <= 0 {
		return 0
	}
	return float64(w.Used) / w.Window.Seconds()
}

func (m methodView) label(g grid) string {
	if m.Name != "" {
		return m.Name
	}
	return tail(m.Template, g.label-3)
}

func windowLine(g grid, label, style string, w riftrelay.WindowState, note string, c ink) string {
	line := "  " + c.in(dim, pad(clip(label, g.label-3), g.label-3)) + " "
	if w.Limit == 0 {
		line += c.in(dim, pad("limit not known yet", g.bar+countCells+perCells)) + note
		return clipPainted(strings.TrimRight(line, " "), g.width)
	}
	count := fmt.Sprintf(" %d/%d", w.Used, w.Limit)
	line += bar(w, g.bar, style, c) + pad(count, countCells) + c.in(dim, pad("in "+seconds(w.Window), perCells)) + note
	return clipPainted(strings.TrimRight(line, " "), g.width)
}
