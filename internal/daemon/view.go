package daemon

import (
	"fmt"
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

// each returns the replicas' rates.
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
