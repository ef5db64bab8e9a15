package window

import (
	"riftrelay/internal/limit"
)

// What answers taught is told to a Store, as far as it doesn't know.

// Teach returns what the answer to the call taught of the application's scope and
// of the method's, for a Store.
func (h *Hold) Teach(now limit.Instant, a Answer, l Lesson, app, method *Scope) [2]limit.Fact {
	counted := a.Status < 300 || a.Status == 404
	f := limit.Fact{Passed: counted, Counted: counted}
	facts := [2]limit.Fact{f, f}
	facts[0].Limits, facts[0].Counts = quotas(a.AppLimit), quotas(a.AppCount)
	facts[1].Limits, facts[1].Counts = quotas(a.MethodLimit), quotas(a.MethodCount)
	if x, leased := h.Leased(); leased {
		facts[0].Bases, facts[1].Bases = x.Bases.App, x.Bases.Method
	}
	if app != nil {
		facts[0].Level = app.breaker.level
	}
	facts[1].Level = method.breaker.level
	switch {
	case l.Kind == limit.Method:
		facts[1].Stop, facts[1].Cause = l.Until.Sub(now), l.Kind
	case l.Kind.Own():
		facts[0].Stop, facts[0].Cause = l.Until.Sub(now), l.Kind
	}
	return facts
}

// quotas reads a header of limits or counts; nil for one that says nothing.
func quotas(header string) []limit.Quota {
	var buf [limit.MaxQuotas]limit.Quota
	pairs, ok := limit.ParseCounts(header, buf[:0])
	if !ok {
		return nil
	}
	var list []limit.Quota
	for _, p := range pairs {
		list = append(list, limit.Quota{N: p.N, W: p.W})
	}
	return list
}

// Urgency is how much a Store needs a Fact.
type Urgency uint8

// The urgencies.
const (
	Redundant Urgency = iota // it says what the store knows
	Later                    // it may wait for the next Ask
	Soon                     // it tells of strangers' calls
	AtOnce                   // others wait for it, or go wrong without it
)

// Urgency returns that of what a call taught, by the store's last view.
func (s *Scope) Urgency(f limit.Fact) Urgency {
	l := s.leasing
	if l == nil {
		return Redundant
	}
	v := &l.view
	if f.Stop > 0 || !v.Known || v.Solo || v.Stop > 0 || f.Limits != nil && !v.Has(f.Limits) {
		return AtOnce
	}
	others := 0
	for _, w := range v.Windows {
		count, told := limit.NumberFor(f.Counts, w.W)
		b, granted := limit.BasisFor(f.Bases, w.W)
		if told && granted && count-b.Base-(w.Used-w.Base) > w.Others {
			return Soon
		}
		others += w.Others
	}
	if f.Level > 0 || others > 0 {
		return Later // a level ends if it isn't told of again, and what strangers do is followed
	}
	return Redundant
}
