package riotsim

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// Totals counts calls since New. Every number is exact.
type Totals struct {
	Arrived    int         // requests that reached the edge, whatever became of them
	Counted    int         // those that raised counters (R3)
	Accepted   int         // those that no limit refused
	Rejected   Kinds       // 429 answers, injected ones included
	Violations int         // 429 answers by the edge's own application and method counters: the caller's fault
	Injected   int         // 429 answers by a Fault
	Refused    int         // not let in: bad key, no bearer token, or a path that doesn't exist
	Nowhere    int         // those of Refused that asked for a path, verb or host that doesn't exist (R19)
	Resets     int         // connections broken by a Fault
	Others     int         // calls by TestServer.UseElsewhere, which the totals above don't hold
	Broken     int         // requests whose body broke off before it was read whole; they never arrived
	Statuses   map[int]int // answers by status; 0 = Resets
}

// Kinds counts 429 answers by kind.
type Kinds struct{ Application, Method, Service, Server, Untyped int }

// Total is the number of all 429 answers.
func (k Kinds) Total() int { return k.Application + k.Method + k.Service + k.Server + k.Untyped }

func (k *Kinds) add(kind Kind) {
	switch kind {
	case Application:
		k.Application++
	case Method:
		k.Method++
	case Service:
		k.Service++
	case Server:
		k.Server++
	case Untyped:
		k.Untyped++
	}
}

// Report is what an edge saw up to At.
type Report struct {
	Totals
	First  time.Time     // the first arrival; zero = none yet
	At     time.Time     // the moment of the report
	Scopes []ScopeReport // every budget used so far, in the order of first use
	// Most is how many of the calls could have been accepted at most from the first arrival until At, by
	// the budgets that were used: for each key and host the smaller of what its application limit
	// and its methods together allow, plus that of RSO methods. Negative = there is no limit.
	Most int
}

// ScopeReport is what one budget saw.
type ScopeReport struct {
	Kind     Kind   // Application, Method or Service
	Key      string // "" for Service and for RSO methods
	Host     string // of a shared budget (R8) the first one
	Method   string // as route.Method.String; "" for Application
	Counted  int    // calls that raised it
	Accepted int    // calls that no limit refused, neither this one nor another
	Rejected int    // calls answered 429 in its name
	Windows  []WindowReport
}

// WindowReport is what one window of a budget saw.
type WindowReport struct {
	Limit    Limit
	Counted  int       // calls that raised it
	Accepted int       // calls of those that no limit refused
	Full     int       // calls of those that found it full
	Peak     int       // highest count, as headers said it
	Worst    int       // most arrivals in any interval [t, t+W), wherever the windows lay; 0 unless Config.Intervals or Sliding
	WorstAt  time.Time // where that interval begins
	Most     int       // most calls it could have accepted from its first arrival until At; an upper bound if the limit changed meanwhile
	Even     float64   // N/W × that time: what a long run can accept, whatever the first windows add
}

// Use is Accepted ÷ Even: the share of the limit that was used. It is 0 before any time has passed.
func (w WindowReport) Use() float64 {
	if w.Even == 0 {
		return 0
	}
	return float64(w.Accepted) / w.Even
}

// Report returns what the edge saw until now by the clock.
func (e *Edge) Report() Report { return e.ReportAt(time.Now()) }

// ReportAt returns what the edge saw until now; for use with Arrive. Nothing changes by it.
func (e *Edge) ReportAt(now time.Time) Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := Report{Totals: e.totals}
	r.Statuses = maps.Clone(e.totals.Statuses)
	at := e.last
	if e.serial > 0 {
		r.First = e.timeOf(e.first)
		at = max(at, e.base.UnixNano()+int64(now.Sub(e.base)))
	}
	r.At = now
	for _, s := range e.count.order {
		sr := ScopeReport{
			Kind: s.id.kind, Key: s.id.key, Host: s.id.host, Method: s.id.method,
			Counted: s.counted, Accepted: s.accepted, Rejected: s.rejected,
		}
		for _, w := range s.windows {
			wr := WindowReport{
				Limit: w.Limit, Counted: w.counted, Accepted: w.accepted, Full: w.full, Peak: w.peak,
				Worst: w.worst, Most: w.mostBy(at), Even: w.evenBy(at),
			}
			if w.worst > 0 {
				wr.WorstAt = e.timeOf(w.worstAt)
			}
			sr.Windows = append(sr.Windows, wr)
		}
		r.Scopes = append(r.Scopes, sr)
	}
	r.Most = most(r.Scopes)
	return r
}

func (e *Edge) timeOf(at int64) time.Time {
	return e.base.Add(time.Duration(at - e.base.UnixNano()))
}

// most combines what the budgets allow; -1 = no limit.
func most(scopes []ScopeReport) int {
	type owner struct{ key, host string }
	app, methods := map[owner]int{}, map[owner]int{}
	var owners []owner
	for _, s := range scopes {
		o := owner{s.Key, s.Host}
		switch s.Kind {
		case Application:
			app[o] = s.most()
		case Method:
			if _, seen := methods[o]; !seen {
				owners = append(owners, o)
			}
			if m := s.most(); m < 0 || methods[o] < 0 {
				methods[o] = -1
			} else {
				methods[o] += m
			}
		}
	}
	sum := 0
	for _, o := range owners {
		m := methods[o]
		if a, ok := app[o]; ok && a >= 0 && (m < 0 || a < m) {
			m = a
		}
		if m < 0 {
			return -1
		}
		sum += m
	}
	return sum
}

// most is what the tightest window allowed; negative = there is no limit.
func (s ScopeReport) most() int {
	least := -1
	for _, w := range s.Windows {
		if least < 0 || w.Most < least {
			least = w.Most
		}
	}
	return least
}

// Scope returns the report of one budget: key and method "" where the kind has none. ok is false if it was never used.
func (r Report) Scope(kind Kind, key, host, method string) (s ScopeReport, ok bool) {
	for _, s := range r.Scopes {
		if s.Kind == kind && s.Key == key && s.Host == host && s.Method == method {
			return s, true
		}
	}
	return ScopeReport{}, false
}

// String is the report for people: the totals, then a line for each window. It shows no key but the last four characters.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "arrived %d, accepted %d", r.Arrived, r.Accepted)
	if r.Most >= 0 {
		fmt.Fprintf(&b, " of at most %d", r.Most)
	}
	if r.Others > 0 {
		fmt.Fprintf(&b, ", others made %d", r.Others)
	}
	k := r.Rejected
	fmt.Fprintf(&b, ", 429s %d (application %d, method %d, service %d, server %d, untyped %d), own fault %d\n",
		k.Total(), k.Application, k.Method, k.Service, k.Server, k.Untyped, r.Violations)
	for _, s := range r.Scopes {
		name := s.Host
		if s.Key != "" {
			name += " " + last4(s.Key)
		}
		for _, w := range s.Windows {
			fmt.Fprintf(&b, "%-11v %s %s %v: accepted %d, peak %d, full %d, use %.1f%%\n",
				s.Kind, name, s.Method, w.Limit, w.Accepted, w.Peak, w.Full, 100*w.Use())
		}
	}
	return b.String()
}
