package window

import "riftrelay/internal/limit"

// Hindrance says what keeps the next call of a scope waiting.
type Hindrance uint8

// The hindrances.
const (
	Free     Hindrance = iota // nothing: it could go
	Full                      // a window has no room, or only what is kept free for high priority
	Paced                     // there is room, but calls are spread
	Reserved                  // the room that is left may have been used by others on the key
	Stopped                   // a stop after a 429
	Solo                      // a call went alone, or is to go alone after the start: its answer is waited for
	Shared                    // the store gives the room to other replicas first, or is being asked
)

// Why is the hindrance that lasts longest, e.g. {Full, 3s, {100:120, Used: 100}}
// with a window of 100 calls in 120 s that has room again at 3 s.
type Why struct {
	Hindrance
	OfBudget bool          // of Full and Paced: it is the budget's share of Riot's limit
	Until    limit.Instant // as Next; Never when it hangs on calls under way
	Window   WindowState   // of Full, Paced and Reserved
	Cause    limit.Kind    // of Stopped
}

// Why tells what Next hangs on.
func (s *Scope) Why(now limit.Instant, p Policy) Why {
	var y Why
	if s.leasing != nil && !s.leasing.alone {
		y = s.whyLeased(now, p)
	} else {
		y = s.Gate.Why(now)
		for _, w := range s.windows {
			y.look(now, w, p, s.inFlight > 0, false)
		}
	}
	if !s.extra(p.Budget) {
		return y
	}
	var buf [maxExtra]*window
	for _, w := range s.holding(now, p, buf[:0]) {
		y.look(now, w, p, false, true)
	}
	return y
}

// whyLeased is Why for a scope that a store judges for: by what it said last.
func (s *Scope) whyLeased(now limit.Instant, p Policy) Why {
	l := s.leasing
	if left, cause := s.Cooldown(now); left > 0 {
		return Why{Hindrance: Stopped, Until: s.until, Cause: cause}
	}
	if !l.needed || l.next(now, p.Unpaced) <= now {
		return Why{Until: now}
	}
	y := Why{Hindrance: Shared, Until: max(now, l.again[limit.ClassIndex(p.Unpaced)])}
	switch l.why[limit.ClassIndex(p.Unpaced)] {
	case limit.WaitCharges:
		y.Hindrance = Full
	case limit.WaitPace:
		y.Hindrance = Paced
	case limit.WaitAlone:
		y.Hindrance = Solo
	case limit.WaitNone, limit.WaitStop, limit.WaitShare:
		return y
	}
	for _, x := range l.view.Windows { // the fullest
		if y.Window.N == 0 || (x.Used+x.Others)*y.Window.N > y.Window.Used*x.N {
			y.Window = WindowState{Quota: x.Quota, Used: x.Used + x.Others, Others: x.Others}
		}
	}
	return y
}

// look makes a window the hindrance if it lasts longer.
func (y *Why) look(now limit.Instant, w *window, p Policy, underWay bool, ofBudget bool) {
	at := w.next(now, p, underWay)
	if at <= y.Until {
		return
	}
	*y = Why{Hindrance: Paced, OfBudget: ofBudget, Until: at, Window: w.state(now, p.Margin)}
	y.Window.N = w.n() // what is in force, after violations as well
	p.Unpaced = true
	if w.next(now, p, underWay) == at {
		if y.Hindrance = Full; y.Window.Used < y.Window.N && w.others.about(now, w.quota.W) {
			y.Hindrance = Reserved
		}
	}
}

// Why tells what Next hangs on.
func (g *Gate) Why(now limit.Instant) Why {
	at := g.Next(now)
	switch left, cause := g.Cooldown(now); {
	case at <= now:
		return Why{Until: now}
	case left > 0 && now.Add(left) == at:
		return Why{Hindrance: Stopped, Until: at, Cause: cause}
	}
	return Why{Hindrance: Solo, Until: at}
}
