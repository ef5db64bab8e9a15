package window

import (
	"cmp"
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// Scope is what Riot counts together: an application's calls on a host, or
// those of one method on it (R4).
type Scope struct {
	Gate
	windows  []*window // by length, shortest first
	inFlight int
	breaker  breaker
	known    bool          // Riot's limits have been seen, or it was seen to have none
	restored bool          // the windows were, so they are worth saving again
	silent   int           // counted answers without limits while not known
	lowered  limit.Instant // when a limit was last seen to be lower than before
	toldBy   limit.Instant // when the call was sent whose answer told the limits
	tighter  limit.Instant // when it was last found to allow less than had been thought
	leasing  *leasing      // nil unless a Store judges for it
	shares   []Share       // of each budget, see Allot
}

// NewScope makes a scope of which nothing is known but the quotas assumed for
// it. Until an answer tells, calls go one by one, the first not before start.
func NewScope(start limit.Instant, assumed []limit.Quota) *Scope {
	s := &Scope{Gate: Gate{until: start, solo: true}, breaker: breaker{tolerated: limit.DefaultTolerance}}
	for _, q := range assumed {
		s.windows = append(s.windows, newWindow(q))
	}
	s.sort()
	return s
}

func (s *Scope) sort() {
	slices.SortFunc(s.windows, func(a, b *window) int { return cmp.Compare(a.quota.W, b.quota.W) })
}

// Shortest returns the length of the shortest window; 0 without one.
func (s *Scope) Shortest() time.Duration {
	if len(s.windows) == 0 {
		return 0
	}
	return s.windows[0].quota.W
}

// Step returns the distance of calls that are spread evenly over all windows; 0
// without one.
func (s *Scope) Step() (d time.Duration) {
	for _, w := range s.windows {
		d = max(d, w.quota.W/time.Duration(w.n()))
	}
	return d
}

// Next returns the earliest moment at which every one of the scopes lets one
// more call go; now when that is at once, Never when it hangs on calls under
// way. Nil scopes are skipped.
func (s *Scope) Next(now limit.Instant, p Policy) limit.Instant {
	at := now
	if s.extra(p.Budget) {
		at = s.NextExtra(now, p)
	}
	if s.leasing != nil && !s.leasing.alone {
		return max(at, s.nextLeased(now, p))
	}
	at = max(at, s.Gate.Next(now))
	for _, w := range s.windows {
		at = max(at, w.next(now, p, s.inFlight > 0))
	}
	return at
}

// Nth estimates when the k-th of further calls could go, were no others to
// come in between and none of them to go before from. ofBudget of the k are
// calls of the policy's budget.
func (s *Scope) Nth(now, from limit.Instant, k, ofBudget int, p Policy) limit.Instant {
	at := now
	if s.extra(p.Budget) {
		at = s.nthExtra(now, max(from, s.until), ofBudget, p)
	}
	if s.leasing != nil && !s.leasing.alone {
		return max(at, s.nthLeased(now, from, k))
	}
	at = max(at, from, s.Opens(now))
	if !s.known && !s.restored {
		return at // what is assumed is no reason to refuse
	}
	for _, w := range s.windows {
		at = max(at, w.nth(now, max(from, s.until), k, p))
	}
	return at
}

// Idle reports whether the scope could be forgotten: no call under way, no lease
// of a store's, no unexpired charge, no stop, no breaker tripped.
func (s *Scope) Idle(now limit.Instant, j time.Duration) bool {
	if level, _ := s.breaker.eased(now); level > 0 {
		return false
	}
	if s.inFlight > 0 || s.until > now {
		return false
	}
	if s.leasing != nil && s.Outstanding(0)+s.Outstanding(1) > 0 {
		return false // they are to be given back
	}
	for _, w := range s.windows {
		w.expire(now, j)
		if w.used() > 0 {
			return false
		}
	}
	return true // no ceiling has a charge that its window hasn't
}

// ScopeState is what a scope looks like from outside.
type ScopeState struct {
	Known    bool
	InFlight int
	Halved   int // how often the limits are halved, after violations
	Cooldown time.Duration
	Cause    limit.Kind    // of the cool-down
	Windows  []WindowState // Riot's
	Budgets  []BudgetUse   // of the budgets that were ever used here
}

// State describes the scope at now.
func (s *Scope) State(now limit.Instant, j time.Duration) ScopeState {
	level, _ := s.breaker.eased(now)
	st := ScopeState{Known: s.known, InFlight: s.inFlight, Halved: level, Windows: make([]WindowState, len(s.windows))}
	st.Cooldown, st.Cause = s.Gate.Cooldown(now)
	for i, w := range s.windows {
		st.Windows[i] = w.state(now, j)
		s.leasing.among(&st.Windows[i])
	}
	st.Budgets = s.budgetState(now, j)
	return st
}

// Known reports whether Riot's own limits for the scope have been seen.
func (s *Scope) Known() bool { return s.known }

// InUse reports whether calls of the scope are under way.
func (s *Scope) InUse() bool { return s.inFlight > 0 }

// passed notes the success of a call sent at sentAt.
func (s *Scope) passed(sentAt limit.Instant) {
	s.Gate.passed(sentAt)
	s.solo = !s.known || s.strikes > 0
}

// learn takes over the limits and counts of an answer to the call of h. It
// reports whether there are windows now that calls under way aren't charged
// on.
func (s *Scope) learn(now limit.Instant, limits, counts string, counted bool, h *Hold, j time.Duration) (fresh bool) {
	var buf, cbuf [limit.MaxQuotas]limit.Quota
	quotas, ok := limit.ParseLimits(limits, buf[:0])
	if !ok || len(quotas) == 0 {
		// R12: an absent header says nothing; nor does a garbled one.
		if counted && !s.known {
			if s.silent++; s.silent >= limit.SilentAnswers {
				s.known, s.solo = true, s.strikes > 0
			}
		}
		return false
	}
	// A limit without a count has an unknown count.
	seen, ok := limit.ParseCounts(counts, cbuf[:0])
	if !ok {
		seen = nil
	}
	// A slow answer may tell of limits that have changed since (R6): of it only
	// the counts are taken.
	sentAt, sent := h.IsSent()
	if !sent {
		sentAt = now
	}
	current := sentAt >= s.toldBy
	if current {
		s.toldBy = sentAt
		// R12: a present header without a known window removes it.
		s.windows = slices.DeleteFunc(s.windows, func(w *window) bool {
			_, stays := limit.NumberFor(quotas, w.quota.W)
			return !stays
		})
	}
	for _, q := range quotas {
		i := slices.IndexFunc(s.windows, func(w *window) bool { return w.quota.W == q.W }) // R11: join by window seconds, never by position
		count, told := limit.NumberFor(seen, q.W)
		if i < 0 && !current {
			continue
		}
		if i < 0 {
			w := newWindow(limit.Quota{N: q.N, W: q.W})
			if told {
				// Calls from before the window was known. Those under way may
				// be among them, but none that is still to be counted is.
				if s.leasing == nil {
					w.answered.push(now, min(count-1, q.N), w.span)
				} else { // they may be other replicas'
					w.others.push(now, min(count-1, q.N), w.span)
				}
				w.note(now, count, h, j)
			}
			if s.Apart() {
				w.cap = w.share(now, s.leasing)
				w.capNext, w.capAt = w.cap, now
			}
			s.windows = append(s.windows, w)
			fresh = true
			continue
		}
		w := s.windows[i]
		if current {
			if q.N < w.quota.N {
				s.lowered, s.tighter = now, now
			}
			w.setLimit(now, q.N)
		}
		if told {
			w.note(now, count, h, j)
			if s.leasing == nil || s.leasing.blind() { // else other replicas' calls would seem to be others'
				w.counted(now, count, h, j)
			}
		}
	}
	if fresh {
		s.sort()
		s.halve()
	}
	if fresh || !s.known {
		s.tighter = now
	}
	if !s.known {
		s.known, s.solo = true, s.strikes > 0
	}
	return fresh
}

// setLimit changes the limit to n. A lowered one holds at once, charges stay.
func (w *window) setLimit(now limit.Instant, n int) {
	if n == w.quota.N {
		return
	}
	w.quota.N = n
	// The next call need not keep a distance that is no more.
	w.pace.tat = min(w.pace.tat, now.Add(w.quota.W/time.Duration(n)))
}

// note takes over when Riot's window opened: R10, a call with count 1 has
// opened it, at the latest when its charge's time begins.
func (w *window) note(now limit.Instant, count int, h *Hold, j time.Duration) {
	if count != 1 {
		return
	}
	at := now
	if sentAt, sent := h.IsSent(); sent {
		at = min(at, sentAt.Add(j))
	}
	w.opened = max(w.opened, at)
}
