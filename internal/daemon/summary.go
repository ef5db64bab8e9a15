package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/riotsim"
)

// summary is how a demo went.
type summary struct {
	counts
	edge    riotsim.Report // the judge
	took    time.Duration
	options config.DemoOptions
	store   string // what the replicas shared; "" = there was one
}

// lines tells it in a few lines; width 0 cuts nothing off.
func (s summary) lines(width int, c ink) []string {
	out := []string{
		c.in(bold, fmt.Sprintf("RiftRelay demo: %.1f s, a simulated Riot, %s per host, pacing %s", s.took.Seconds(), s.options.RateLimit, s.options.Pacing.String())),
	}
	row := func(label, format string, args ...any) {
		out = append(out, "  "+pad(label, 10)+fmt.Sprintf(format, args...))
	}
	row("sent", "%d calls to the relay, %.1f a second", s.Sent, float64(s.Sent)/max(s.took.Seconds(), 1e-3))
	row("accepted", "%d by Riot's own count, %d by the clients'", s.edge.Accepted, s.Accepted)
	if s.store != "" {
		row("replicas", "%s of them, by way of %d relays that share %s", s.perRelay(), s.options.Replicas, s.store)
	}
	row("rejected", "%d by the relay, unsent: %s", s.refused(), s.reasons())
	if n := s.edge.Rejected.Total(); n == 0 {
		out = append(out, "  "+c.in(green+";"+bold, "429s 0")+"    from Riot: no limit was exceeded")
	} else {
		out = append(out, "  "+c.in(red+";"+bold, pad(fmt.Sprintf("429s %d", n), 10))+fmt.Sprintf("from Riot, %d of them for exceeding a limit", s.edge.Violations))
	}
	if hosts := s.hosts(); len(hosts) > 0 {
		out = append(out, "", fmt.Sprintf("Use of %s, the limit that binds, by Riot's own count", hosts[0].limit()))
		var all use
		for _, h := range hosts {
			out = append(out, h.line(width, c))
			all.accepted += h.accepted
			all.allowed += h.allowed
			all.used += h.used
		}
		all.host = "all"
		out = append(out, all.line(width, c))
		if rate := all.allowed / max(s.took.Seconds(), 1e-3); rate > mostLoad {
			out = append(out, c.in(dim, fmt.Sprintf("  The limits allow %.0f calls/s, the demo's clients make %.0f at most.", rate, mostLoad)))
		}
	}
	out = append(out, "", "Next, with your own key:  "+c.in(cyan, "RIOT_TOKEN=RGAPI-… go run ./cmd/riftrelay"))
	for i := range out {
		if width > 0 {
			out[i] = clipPainted(out[i], width)
		}
		out[i] = strings.TrimRight(out[i], " ")
	}
	return out
}

// perRelay is how many calls went by way of each, "401 + 399 + 400".
func (s summary) perRelay() string {
	var list []string
	for _, n := range s.By[:s.options.Replicas] {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, " + ")
}

// use is what a host's calls made of the application limit.
type use struct {
	host     string
	window   riotsim.Limit
	accepted int
	allowed  float64 // by the limit's mean rate
	used     float64 // of allowed
}

func (u use) limit() string { return fmt.Sprintf("%d in %s", u.window.N, seconds(u.window.Per)) }

// line says 100 % at most. More calls than the mean rate gives are possible,
// because the first window may be used up at once.
func (u use) line(width int, c ink) string {
	const cells, fine = 30, 1000
	share := 0.0
	if u.allowed > 0 {
		share = u.used / u.allowed
	}
	part := riftrelay.WindowState{Limit: fine, Used: int(fine * share)}
	line := "  " + pad(u.host, 10) + bar(part, cells, cyan, c) + c.in(bold, fmt.Sprintf("%7.1f %%", 100*share))
	for _, remark := range []string{fmt.Sprintf("   %d calls, %.0f on average", u.accepted, u.allowed), fmt.Sprintf("   %d calls", u.accepted)} {
		if room := width - (2 + 10 + cells + 9); width == 0 || len(remark) <= room {
			return line + c.in(dim, remark)
		}
	}
	return line
}

// hosts lists them by name.
func (s summary) hosts() []use {
	var list []use
	for _, scope := range s.edge.Scopes {
		if scope.Kind == riotsim.Application && len(scope.Windows) > 0 {
			w := binding(scope.Windows)
			list = append(list, use{scope.Host, w.Limit, w.Accepted, w.Even, min(float64(w.Accepted), w.Even)})
		}
	}
	slices.SortFunc(list, func(a, b use) int { return cmp.Compare(a.host, b.host) })
	return list
}

// binding is the window that allows least in the long run.
func binding(windows []riotsim.WindowReport) riotsim.WindowReport {
	tightest := windows[0]
	for _, w := range windows[1:] {
		if w.Limit.N*int(tightest.Limit.Per) < tightest.Limit.N*int(w.Limit.Per) {
			tightest = w
		}
	}
	return tightest
}
