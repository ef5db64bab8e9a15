package window

import (
	"math"
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// Beside Riot's windows a scope has extra ones of the same arithmetic, which
// make it stricter and never looser: for the calls of each budget a ceiling on
// every one of Riot's windows. A ceiling belongs to its window, so it goes when
// that goes, and follows its limit.

// maxExtra is how many extra windows one call is looked at for without memory
// beyond the stack's.
const maxExtra = 16

// Share is what the calls of one budget may use of each window of a scope.
type Share struct {
	Of float64 // above 0, at most 1
	// On lists the budgets on whose ceilings these calls are charged. The first
	// Bind of them hold the calls back. Nil: these calls have the ceiling of their
	// own budget.
	On   []uint16
	Bind int
}

// Allot sets the shares of the budgets, that of budget 1 first.
func (s *Scope) Allot(shares []Share) { s.shares = shares }

// shareOf returns how many calls of a window of n a share of it is: at least one.
func shareOf(share float64, n int) int {
	const slip = 1e-9 // 0.07 of 100 is 7
	return max(1, int(math.Ceil(share*float64(n)-slip)))
}

// extra reports whether a call of the budget has extra windows.
func (s *Scope) extra(budget uint16) bool {
	return 0 < budget && int(budget) <= len(s.shares)
}

// charged lists the budgets on whose ceilings the calls of a budget are charged.
func (s *Scope) charged(budget uint16, buf []uint16) []uint16 {
	if budget < 1 || int(budget) > len(s.shares) {
		return nil
	}
	if on := s.shares[budget-1].On; on != nil {
		return on
	}
	return append(buf, budget)
}

// binding lists the budgets whose ceilings hold a call of a policy back.
func (s *Scope) binding(p Policy, buf []uint16) []uint16 {
	if p.Unbound {
		return nil
	}
	on := s.charged(p.Budget, buf)
	if len(on) > 0 && s.shares[p.Budget-1].On != nil {
		on = on[:s.shares[p.Budget-1].Bind]
	}
	return on
}

// holding appends to buf the extra windows that may hold a call of a policy back,
// as far as anything was charged on them.
func (s *Scope) holding(now limit.Instant, p Policy, buf []*window) []*window {
	var ids [1]uint16
	return s.extras(now, s.binding(p, ids[:0]), buf)
}

// extras appends to buf the ceilings of the budgets, as far as anything was
// charged on them.
func (s *Scope) extras(now limit.Instant, budgets []uint16, buf []*window) []*window {
	for _, budget := range budgets {
		for _, w := range s.windows {
			if w.hasCeiling(budget) {
				buf = append(buf, w.ceiling(now, budget, s.shares[budget-1].Of))
			}
		}
	}
	return buf
}

// makeCeilings makes the ceilings of the budgets on which calls are to be charged.
func (s *Scope) makeCeilings(now limit.Instant, budgets []uint16) {
	for _, budget := range budgets {
		for _, w := range s.windows {
			w.ceiling(now, budget, s.shares[budget-1].Of)
		}
	}
}

// ceilingOf is a budget's ceiling on a window.
type ceilingOf struct {
	budget uint16
	*window
}

// findCeiling returns the place of a budget's ceiling, and whether it is there.
func (w *window) findCeiling(budget uint16) (int, bool) {
	return slices.BinarySearchFunc(w.ceilings, budget, func(c ceilingOf, id uint16) int { return int(c.budget) - int(id) })
}

func (w *window) hasCeiling(budget uint16) bool {
	_, found := w.findCeiling(budget)
	return found
}

// ceiling returns that of a budget on the window, made if need be, with the
// limit that follows from what the window is used for now.
func (w *window) ceiling(now limit.Instant, budget uint16, share float64) *window {
	n := shareOf(share, w.n())
	i, found := w.findCeiling(budget)
	if !found {
		w.ceilings = slices.Insert(w.ceilings, i, ceilingOf{budget, newWindow(limit.Quota{N: n, W: w.quota.W})})
	}
	c := w.ceilings[i].window
	c.setLimit(now, n)
	return c
}

// NextExtra is the part of Next for the extra windows, which hold where a Store judges too.
func (s *Scope) NextExtra(now limit.Instant, p Policy) limit.Instant {
	var buf [maxExtra]*window
	at := now
	for _, w := range s.holding(now, p, buf[:0]) {
		at = max(at, w.next(now, p, false))
	}
	return at
}

// goneBy counts the present charges that will have expired at a moment.
func (w *window) goneBy(at limit.Instant, j time.Duration) (n int) {
	for _, x := range [...]struct {
		r     *ring
		lasts time.Duration
	}{{&w.sent, w.quota.W + j}, {&w.answered, w.quota.W}} {
		for i := range x.r.len {
			e := x.r.at(i)
			if e.last().Add(x.lasts) > at {
				break
			}
			n += int(e.n)
		}
	}
	return n
}

// RoomExtra tells how many calls of a policy the extra windows let go by a
// moment: for what is asked of a Store ahead.
func (s *Scope) RoomExtra(now, by limit.Instant, p Policy) int {
	room := math.MaxInt
	var buf [maxExtra]*window
	for _, w := range s.holding(now, p, buf[:0]) {
		n := w.n()
		if !p.Unpaced {
			n = int(math.Ceil(p.Burst * float64(n)))
		}
		if n -= w.used() - w.goneBy(by, p.Margin) + w.keeps(now, p); n < 1 && w.next(now, p, false) <= by {
			n = 1
		}
		room = min(room, max(0, n))
	}
	return room
}

// nthExtra is the part of Nth for the extra windows, of the k-th call of the
// policy's budget.
func (s *Scope) nthExtra(now, from limit.Instant, k int, p Policy) limit.Instant {
	at := now
	var ids [1]uint16
	for _, budget := range s.binding(p, ids[:0]) {
		for _, w := range s.windows {
			if w.hasCeiling(budget) {
				at = max(at, w.ceiling(now, budget, s.shares[budget-1].Of).nth(now, from, k, p))
			}
		}
	}
	return at
}

// takeExtra is the part of Hold.Take for the extra windows. held is until when
// Riot's windows held the call back.
func (h *Hold) takeExtra(now limit.Instant, s *Scope, p Policy, held limit.Instant) {
	var ids [1]uint16
	budgets := s.charged(p.Budget, ids[:0])
	s.makeCeilings(now, budgets)
	var buf [maxExtra]*window
	for _, w := range s.extras(now, budgets, buf[:0]) {
		w.pending++
		if p.High {
			w.tookHigh(now)
		}
		// A slot of an extra window comes between those of Riot's: until the next
		// one it is not too late.
		w.granted(now, w.n(), w.quota.W/time.Duration(w.n()), max(held, w.held))
		h.charges = append(h.charges, charge{w: w})
	}
}

// BudgetUse is what the calls of a budget use of a scope.
type BudgetUse struct {
	Budget  uint16
	Windows []WindowState // with the budget's share as limit, shortest first
}

func (s *Scope) budgetState(now limit.Instant, j time.Duration) (list []BudgetUse) {
	for i, share := range s.shares {
		budget := uint16(i + 1)
		use := BudgetUse{Budget: budget}
		for _, w := range s.windows {
			if w.hasCeiling(budget) {
				use.Windows = append(use.Windows, w.ceiling(now, budget, share.Of).state(now, j))
			}
		}
		if use.Windows != nil {
			list = append(list, use)
		}
	}
	return list
}
