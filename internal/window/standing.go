package window

import "riftrelay/internal/limit"

// Standing is what an answer can change of a scope's limits: taken before and
// after, it shows what did.
type Standing struct {
	Told   bool // by Riot; otherwise the quotas are assumed, or of a process before
	Halved int  // how often the limits are, after violations
	quotas [limit.MaxQuotas]limit.Quota
	n      int
}

// Standing returns how the scope's limits stand.
func (s *Scope) Standing() Standing {
	st := Standing{Told: s.toldBy != 0, Halved: s.breaker.level, n: min(len(s.windows), limit.MaxQuotas)}
	for i := range st.n {
		st.quotas[i] = s.windows[i].quota
	}
	return st
}

// Halved returns how often the scope's limits are halved, after violations.
func (s *Scope) Halved() int { return s.breaker.level }

// Quotas lists the limits, shortest window first.
func (st *Standing) Quotas() []limit.Quota { return st.quotas[:st.n] }

// Of returns the limit of the window that is as long as that of q.
func (st *Standing) Of(q limit.Quota) (same limit.Quota, found bool) {
	for _, same = range st.Quotas() {
		if same.W == q.W {
			return same, true
		}
	}
	return limit.Quota{}, false
}

// Filled tells of each window that is full at now and holds a call back. As
// long as calls keep running into it, it is told once: again only after none
// did for the window's length.
func (s *Scope) Filled(now limit.Instant, p Policy, told func(limit.Quota)) {
	for _, w := range s.windows {
		if w.expire(now, p.Margin); w.used() < w.n() {
			continue
		}
		if now >= w.filled {
			told(limit.Quota{N: w.n(), W: w.quota.W})
		}
		// Charges last J longer than the window, and as long as those that
		// they are counted with.
		w.filled = now.Add(w.quota.W + p.Margin + w.span)
	}
}
