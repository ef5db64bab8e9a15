package riotsim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// AssertNoViolations fails the test if the program's calls went beyond an application or method limit,
// with an account of each window that was too full. Scripted 429s aren't violations, nor are those of
// service limits. Those that UseElsewhere helped to cause are: the counts in the headers warned.
func (s *TestServer) AssertNoViolations(t TB) {
	t.Helper()
	if text := s.violations(); text != "" {
		t.Errorf("riotsim: %s", text)
	}
}

// AssertCalls fails the test unless n of Calls(host, method) arrived, and lists those that did.
func (s *TestServer) AssertCalls(t TB, host, method string, n int) {
	t.Helper()
	s.mustSelect(t, method)
	s.mu.Lock()
	lost := s.serial > uint64(len(s.log.buf))
	s.mu.Unlock()
	if lost {
		t.Fatalf("riotsim: AssertCalls: Config.Arrivals is %d, and more arrived; want -1, which keeps all", s.cfg.Arrivals)
	}
	calls := s.Calls(host, method)
	if len(calls) == n {
		return
	}
	name, shown := strings.TrimSpace(host+" "+method), calls
	if name == "" {
		name = "any method"
	}
	if len(calls) == 0 {
		shown = s.Calls("", "")
	}
	t.Errorf("riotsim: %d calls of %s arrived, want %d\n%s", len(calls), name, n, list(shown))
}

// Calls returns the calls of a host and method ("" = any; see Rule.Method) that arrived, however they
// were answered, oldest first: those of Arrivals, without those of UseElsewhere. A path that doesn't
// exist is a call of no method.
func (s *TestServer) Calls(host, method string) []Arrival {
	return slices.DeleteFunc(s.Arrivals(), func(a Arrival) bool {
		return a.Other || host != "" && host != a.Host || !selectsMethod(method, a.Method)
	})
}

// list is a line for each of the first arrivals.
func list(arrivals []Arrival) string {
	const most = 20
	var b strings.Builder
	for i, a := range arrivals {
		if i == most {
			fmt.Fprintf(&b, "  … and %d more\n", len(arrivals)-most)
			break
		}
		what := "no answer"
		if a.Status != 0 {
			what = fmt.Sprint(a.Status)
		}
		if a.Kind != None {
			what += " " + a.Kind.String()
		}
		name := "a path that doesn't exist"
		if a.Method != nil {
			name = a.Method.String()
		}
		fmt.Fprintf(&b, "  at %v %s %s: %s\n", a.Time.Sub(arrivals[0].Time), a.Host, name, what)
	}
	return b.String()
}

// excess is one window that more calls came for than it has room. Edge.mu guards it.
type excess struct {
	scope       *scope
	limit       Limit
	from        int64 // when the window opened; of a sliding one, its oldest call
	first, last int64 // refused calls
	refused     int
	count       int // highest
}

// maxExcess bounds what is kept. The first windows tell most.
const maxExcess = 16

// exceedLocked notes a refusal that the caller caused.
func (e *Edge) exceedLocked(at int64, s *scope) {
	for _, w := range s.windows {
		if !w.overfull {
			continue
		}
		same := func(x excess) bool {
			return x.scope == s && x.limit.Per == w.Per && at < x.from+int64(w.Per)
		}
		i := slices.IndexFunc(e.over, same)
		if i < 0 {
			if len(e.over) == maxExcess {
				continue
			}
			i = len(e.over)
			e.over = append(e.over, excess{scope: s, from: w.opened(), first: at})
		}
		x := &e.over[i]
		x.limit, x.last, x.refused, x.count = w.Limit, at, x.refused+1, max(x.count, w.count)
	}
}

// violations is an account of the calls that went beyond a limit, for people; "" = none did.
func (e *Edge) violations() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.totals.Violations == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d calls went beyond a limit and got a 429; times are since the first call\n", e.totals.Violations, e.totals.Arrived)
	since := func(at int64) time.Duration { return time.Duration(at - e.first) }
	for _, x := range e.over {
		id := x.scope.id
		fmt.Fprintf(&b, "  %s: %d calls in the window %v that opened at %v, %d refused from %v to %v\n",
			scopeName(id.kind, id.key, id.host, id.method), x.count, x.limit, since(x.from), x.refused, since(x.first), since(x.last))
		if e.log.max < 0 {
			b.WriteString(e.chartLocked(x))
		}
	}
	if len(e.over) == maxExcess {
		b.WriteString("  … these are the first windows\n")
	}
	return b.String()
}

// chartLocked shows how the calls lay in a window: how many in each tenth of it.
func (e *Edge) chartLocked(x excess) string {
	var tenths [10]int
	others := 0
	for _, a := range e.log.buf {
		app, meth := a.scopes()
		at := e.base.UnixNano() + int64(a.Time.Sub(e.base)) - x.from
		if !a.Counted || at < 0 || at >= int64(x.limit.Per) || e.count.scopes[app] != x.scope && e.count.scopes[meth] != x.scope {
			continue
		}
		tenths[at*10/int64(x.limit.Per)]++
		if a.Other {
			others++
		}
	}
	text := strings.Trim(fmt.Sprint(tenths), "[]")
	if others > 0 {
		text += fmt.Sprintf("; %d of them made elsewhere", others)
	}
	return fmt.Sprintf("    calls in each %v: %s\n", x.limit.Per/10, text)
}
