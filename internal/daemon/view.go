package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"riftrelay"
)

// frame is all that the demo shows at one moment.
type frame struct {
	Elapsed, For time.Duration // For 0 = until Ctrl-C
	Limit        string        // application limit of the edge
	Pacing       string

	Sent, Accepted, Refused, TooMany int     // since the start; TooMany = 429s that Riot answered
	SentRate, AcceptedRate           float64 // calls/s, lately
	Queued, InFlight                 int
	Normal, High                     waits // lately
	Hosts                            []hostView
	Page                             string // where the relay's page is

	Replicas []float64 // calls/s that were accepted by way of each, lately; nil = there is one
	Store    string    // what they share, and how it is
}

// waits are percentiles of the wait for admission.
type waits struct {
	N        int
	P50, P95 time.Duration
}

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

func share(w riftrelay.WindowState) float64 {
	if w.Limit == 0 {
		return 0
	}
	return float64(w.Used) / float64(w.Limit)
}

// lines draws the frame for a terminal of that size. It never has more lines
// or wider ones.
func (f frame) lines(width, height int, c ink) []string {
	g := gridFor(width)
	out := f.head(g, c)
	room := height - 1 - len(out) // the last row stays free, or the terminal would scroll
	per := 0                      // methods a host
	for {
		need := 0
		for _, h := range f.Hosts {
			need += 1 + len(h.Windows) + min(per+1, len(h.Methods))
		}
		if need > room || per == 6 {
			break
		}
		per++
	}
	for i, h := range f.Hosts {
		block := h.lines(g, per, c)
		last := i == len(f.Hosts)-1
		if len(block) > room || !last && len(block) == room {
			if room > 0 {
				out = append(out, c.in(dim, clip(fmt.Sprintf("… hosts left out: %d; they need a taller terminal", len(f.Hosts)-i), g.width)))
			}
			break
		}
		out = append(out, block...)
		room -= len(block)
	}
	return out[:max(0, min(len(out), height-1))]
}

func (f frame) head(g grid, c ink) []string {
	clock := clockOf(f.Elapsed)
	if f.For > 0 {
		clock += " of " + clockOf(f.For)
	}
	name := "RiftRelay demo · "
	if n := len(f.Replicas); n > 0 {
		name += fmt.Sprintf("%d replicas · ", n)
	}
	title := clip(name+"simulated Riot · "+f.Limit+" per host · "+f.Pacing, g.width-len(clock)-2)
	tooMany := c.in(green, "429s 0")
	if f.TooMany > 0 {
		tooMany = c.in(red, fmt.Sprintf("429s %d", f.TooMany))
	}
	// Widths are fixed, so that nothing dances.
	head := []string{
		clipPainted(c.in(bold, pad(title, g.width-len(clock)))+c.in(dim, clock), g.width),
		clipPainted(fmt.Sprintf("sent %5.1f/s  accepted %s  queued %3d  in flight %2d  %s  %s", f.SentRate,
			c.in(bold, fmt.Sprintf("%5.1f/s", f.AcceptedRate)), f.Queued, f.InFlight, tooMany, c.in(dim, fmt.Sprintf("total %d", f.Accepted))), g.width),
		clipPainted(c.in(dim, "half and 95 % waited at most  ")+"normal "+f.Normal.String()+"  high priority "+f.High.String(), g.width),
	}
	if len(f.Replicas) > 0 {
		head = append(head, clipPainted("replicas"+f.each("%6.1f/s")+"  "+c.in(dim, f.Store), g.width))
	}
	return append(head, clipPainted(c.in(dim, "the relay's page  ")+c.in(cyan, f.Page), g.width), "")
}

// each gives the replicas' rates.
func (f frame) each(format string) string {
	var b strings.Builder
	for _, rate := range f.Replicas {
		fmt.Fprintf(&b, format, rate)
	}
	return b.String()
}

func (w waits) String() string {
	if w.N == 0 {
		return "–"
	}
	return short(w.P50) + " " + short(w.P95)
}

// grid is where things stand in a line.
type grid struct{ width, label, bar int }

const (
	labelCells = 19 // "  champion mastery "
	countCells = 12 // " 123/20000 "
	perCells   = 8  // "in 120s "
	noteCells  = 18 // "queued 12 (3 high)"
)

func gridFor(width int) grid {
	g := grid{width: max(width-1, 20), label: labelCells} // what stands in the last column is lost on some terminals
	g.bar = min(max(g.width-labelCells-countCells-perCells-noteCells, 6), 60)
	return g
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

// bar shows what of a window is used: own calls, then hatched those of others
// on the same key.
func bar(w riftrelay.WindowState, cells int, style string, c ink) string {
	const eighths = " ▏▎▍▌▋▊▉"
	used := min(w.Used, w.Limit)
	others := min(w.Others, used)
	full := cells * 8 * used / w.Limit // in eighths of a cell
	if used > 0 && full == 0 {
		full = 1
	}
	hatched := (cells*others + w.Limit - 1) / w.Limit
	solid := max(0, full/8-hatched)
	own := strings.Repeat("█", solid)
	part := ""
	if rest := full % 8; rest > 0 && hatched == 0 {
		part = string([]rune(eighths)[rest])
	}
	track := max(0, cells-solid-hatched-utf8.RuneCountInString(part))
	return c.in(style, own+part) + c.in(yellow, strings.Repeat("▒", hatched)) + c.in(dim, strings.Repeat("·", track))
}

func depth(all, high int) string {
	if high == 0 {
		return fmt.Sprint(all)
	}
	return fmt.Sprintf("%d (%d high)", all, high)
}

// plain is the frame as one line of a log.
func (f frame) plain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  sent %.1f/s  accepted %.1f/s  queued %d  in flight %d  429s %d", clockOf(f.Elapsed), f.SentRate, f.AcceptedRate, f.Queued, f.InFlight, f.TooMany)
	if f.Normal.N > 0 {
		fmt.Fprintf(&b, "  p50 %s p95 %s", strings.TrimSpace(short(f.Normal.P50)), strings.TrimSpace(short(f.Normal.P95)))
	}
	if len(f.Replicas) > 0 {
		b.WriteString("  replicas" + f.each(" %.1f/s"))
	}
	for _, h := range f.Hosts {
		for i, w := range h.Windows {
			if i == 0 {
				fmt.Fprintf(&b, "  %s", h.Name)
			}
			fmt.Fprintf(&b, " %d/%d", w.Used, w.Limit)
		}
	}
	return b.String()
}
