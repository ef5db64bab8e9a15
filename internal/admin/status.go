package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"riftrelay"
)

// Ask gets the state of the relay whose admin listener is at url, e.g.
// http://127.0.0.1:8986. token, if not empty, goes along as a bearer's: the
// relay needs none, what stands before it may. The error says what to do about
// it.
func Ask(ctx context.Context, url, token string) (raw []byte, err error) {
	const (
		patience = 5 * time.Second
		most     = 64 << 20
	)
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+"/api/v1/state", http.NoBody)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	t := &http.Transport{DisableKeepAlives: true} // no proxy of the environment
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("nobody answers at %s: %w; allowed: --addr with the ADMIN_ADDR of a relay that runs", url, err)
	}
	defer resp.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(resp.Body, most))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
		var why problem
		if json.Unmarshal(raw, &why) == nil && why.Error != "" {
			err = fmt.Errorf("%s: %s", resp.Status, why.Error)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; allowed: --addr with the ADMIN_ADDR of a relay that runs", url, err)
	}
	return raw, nil
}

// Print writes raw, an answer of /api/v1/state, for people: the busiest limits
// and the longest queues first, with colours or without.
func Print(w io.Writer, raw []byte, color bool) error {
	var s State
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("that is no state of a relay: %w", err)
	}
	p := &printer{color: color}
	p.head(&s)
	p.store(s.Store)
	p.keys(s.Keys)
	p.breakers(s.Scopes)
	p.limits(s.Scopes)
	p.queues(s.Queues)
	p.clients(s.Clients)
	_, err := io.WriteString(w, p.String())
	return err
}

type printer struct {
	strings.Builder
	color bool
}

func (p *printer) style(code, s string) string {
	if !p.color || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *printer) printf(format string, args ...any) { p.WriteString(fmt.Sprintf(format, args...)) }

func (p *printer) head(s *State) {
	p.printf("%s  %s  pacing %s  margin %s  queued %d  in flight %d", p.style("1", "riftrelay"), s.At.Format(time.TimeOnly), riftrelay.PacingShare(s.Pacing), inWords(s.Margin), s.Queued, s.InFlight)
	if s.Draining {
		p.WriteString("  " + p.style("33", "draining"))
	}
	p.WriteByte('\n')
}

// cell is one field of a table, with its colour.
type cell struct{ text, code string }

// table writes rows in columns. Those whose heading begins with ">" are
// aligned to the right.
func (p *printer) table(title string, head []string, rows [][]cell) {
	width := make([]int, len(head))
	for i, h := range head {
		width[i] = utf8.RuneCountInString(strings.TrimPrefix(h, ">"))
		for _, r := range rows {
			width[i] = max(width[i], utf8.RuneCountInString(r[i].text))
		}
	}
	p.printf("\n%s\n", p.style("1", title))
	line := func(row []cell) {
		var b strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c.text))
			text := p.style(c.code, c.text)
			switch {
			case strings.HasPrefix(head[i], ">"):
				text = pad + text
			case i < len(row)-1:
				text += pad
			}
			b.WriteString("  " + text)
		}
		p.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	names := make([]cell, len(head))
	for i, h := range head {
		names[i] = cell{strings.TrimPrefix(h, ">"), "2"}
	}
	line(names)
	for _, r := range rows {
		line(r)
	}
}

func (p *printer) keys(keys []Key) {
	var rows [][]cell
	for _, k := range keys {
		rows = append(rows, k.row())
	}
	if len(rows) > 0 {
		p.table("Keys", []string{"key", "group", "state", "why"}, rows)
	}
}

func (k Key) row() []cell {
	code, why := "32", strings.Join(k.Reasons, " and ")
	switch riftrelay.KeyCondition(k.State) {
	case riftrelay.KeyUsable:
	case riftrelay.KeyDisabled:
		code = "33"
	case riftrelay.KeySuspect:
		code = "31"
		next := "a probe is under way"
		if k.NextProbe > 0 {
			next = "next probe in " + inWords(k.NextProbe)
		}
		why = strings.Trim(why+"; "+next, "; ")
	}
	return []cell{{k.Name, ""}, {cmp.Or(k.Group, "-"), ""}, {k.State, code}, {why, ""}}
}

// breakers lists the scopes that keep to less than Riot allows.
func (p *printer) breakers(scopes []Scope) {
	var rows [][]cell
	for _, s := range scopes {
		if s.Halved > 0 {
			uses := fmt.Sprintf("1/%d of its limits", 1<<s.Halved)
			rows = append(rows, []cell{{cmp.Or(s.Key, "-"), ""}, {s.Host, ""}, {cmp.Or(s.Method, "application"), ""}, {uses, "31"}})
		}
	}
	if len(rows) > 0 {
		p.table("Tripped breakers, after too many 429s of our own making", []string{"key", "host", "scope", "uses"}, rows)
	}
}

// share is how much of its fullest window a scope has used.
func (s Scope) share() float64 {
	share := 0.0
	for _, w := range s.Windows {
		share = max(share, float64(w.Used)/float64(max(1, w.Limit)))
	}
	if s.Cooldown > 0 {
		share++
	}
	return share
}

func (p *printer) limits(scopes []Scope) {
	slices.SortStableFunc(scopes, func(a, b Scope) int { return cmp.Compare(b.share(), a.share()) })
	idle := 0
	var rows [][]cell
	for _, s := range scopes {
		if s.share() == 0 && s.InFlight == 0 {
			idle++
			continue
		}
		rows = append(rows, s.rows()...)
	}
	if len(rows) > 0 {
		p.table("Limits", []string{"key", "host", "scope", ">window", "use", ">used", ">others", ">in flight", ">reset", "stopped"}, rows)
	}
	if idle > 0 {
		p.printf("\n  and %d idle\n", idle)
	}
}

func (s Scope) rows() [][]cell {
	name, stop := cmp.Or(s.Method, "application"), ""
	if s.Cooldown > 0 {
		stop = fmt.Sprintf("%s (429 %s)", inWords(s.Cooldown), s.Cause)
	}
	key := cmp.Or(s.Key, "-")
	if len(s.Windows) == 0 {
		return [][]cell{{{key, ""}, {s.Host, ""}, {name, ""}, {"-", ""}, {}, {}, {}, {fmt.Sprint(s.InFlight), ""}, {}, {stop, "31"}}}
	}
	var rows [][]cell
	add := func(windows []Window, name string) {
		for _, w := range windows {
			bar, code := barOf(w)
			rows = append(rows, []cell{
				{key, ""}, {s.Host, ""}, {name, ""}, {inWords(w.Window), ""}, {bar, code}, {fmt.Sprintf("%d/%d", w.Used, w.Limit), ""},
				{fmt.Sprint(w.Others), ""}, {fmt.Sprint(w.InFlight), ""}, {inWords(w.Reset), ""}, {stop, "31"},
			})
			stop = ""
		}
	}
	add(s.Windows, name)
	for _, b := range s.Budgets {
		add(b.Windows, name+", budget "+b.Name)
	}
	return rows
}

// barOf draws how full a window is, green to red.
func barOf(w Window) (bar, code string) {
	const cells = 10
	n := min(cells, (cells*w.Used+w.Limit-1)/max(1, w.Limit))
	switch {
	case w.Used >= w.Limit:
		code = "31"
	case n > 7:
		code = "33"
	default:
		code = "32"
	}
	return strings.Repeat("█", n) + strings.Repeat("░", cells-n), code
}

func (p *printer) queues(queues []Queue) {
	slices.SortStableFunc(queues, func(a, b Queue) int { return cmp.Compare(b.Depth, a.Depth) })
	var rows [][]cell
	for _, q := range queues {
		start, why := "?", ""
		if q.Start != nil {
			start = inWords(*q.Start)
		}
		if q.Why != nil {
			if why = q.Why.Text; q.Why.Key != "" {
				why = q.Why.Key + ": " + why
			}
		}
		rows = append(rows, []cell{{q.Host, ""}, {q.Method, ""}, {q.Priority, ""}, {fmt.Sprint(q.Depth), "1"}, {inWords(q.Oldest), ""}, {start, ""}, {why, ""}})
	}
	if len(rows) > 0 {
		p.table("Queues", []string{"host", "method", "priority", ">waiting", ">oldest", ">next in", "why the oldest waits"}, rows)
	}
}

// inWords writes a time in three digits or so.
func inWords(s Seconds) string {
	switch d := s.duration(); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	default:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
}
