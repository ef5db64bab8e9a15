package sched

import (
	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// What was spent without the store is told to it. Each piece of it is told
// unchanged until the store has answered, since nobody knows whether it took
// over a question whose answer was lost.

// told is such a piece, with when it was put together.
type told struct {
	merge limit.Merge
	at    limit.Instant
}

// owe has what was spent since at told to the store.
func (a *account) owe(at limit.Instant) {
	if !a.merge {
		a.merge, a.from = true, at
	}
	a.from = min(a.from, at)
}

// owes reports whether there is something to be told.
func (a *account) owes() bool { return a.merge || a.told != nil }

// merging returns what is to be told with the next question, without the
// process; nil if nothing.
func (m *Machine) merging(now limit.Instant, a *account) *limit.Merge {
	if a.told == nil && a.merge {
		m.desk.merges++
		a.merge = false
		a.told = &told{limit.Merge{Number: m.desk.merges, Epoch: a.epoch, Scopes: m.spent(now, a, a.from)}, now}
	}
	if a.told == nil {
		return nil
	}
	return a.told.merge.Aged(now.Sub(a.told.at))
}

// hasSpent reports whether anything was spent or stopped on an account that
// counts still.
func (m *Machine) hasSpent(now limit.Instant, a *account) bool {
	for _, x := range m.spent(now, a, -limit.Never) {
		if x.Saved.Stop > 0 {
			return true
		}
		for _, w := range x.Saved.Windows {
			if len(w.Own)+len(w.Others) > 0 {
				return true
			}
		}
	}
	return false
}

// spent returns what was spent on an account since a moment, and what is known
// of its limits.
func (m *Machine) spent(now limit.Instant, a *account, since limit.Instant) []limit.Account {
	var list []limit.Account
	j := a.host.margin.J()
	add := func(method string, s *window.Scope) {
		if s == nil {
			return
		}
		if v := s.Save(now, j); len(v.Windows) > 0 || v.Stop > 0 {
			list = append(list, limit.Account{Method: method, Saved: v.Since(now.Sub(max(since, 0)))})
		}
	}
	if a.key >= 0 {
		add("", at(a.host.apps, a.key))
	}
	for _, b := range m.buckets {
		if b.host == a.host && b.keyless == (a.key < 0) {
			add(b.method, at(b.set.scopes, max(a.key, 0)))
		}
	}
	return list
}
