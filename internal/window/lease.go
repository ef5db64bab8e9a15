package window

import (
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// Lease is a permit of a Store's that no call has used yet.
type Lease struct {
	Stub  limit.Stub
	Start limit.Instant // not before
	By    limit.Instant // sent by then, or given back
	Bases *Bases
}

// Bases are what a Store wants to be told with the counts of a call: see
// Fact.Bases. Calls granted together share them.
type Bases struct {
	App, Method []limit.Basis
}

// leasing is a scope's side of a Store: what was granted and not yet used. The
// windows and the gate's turns don't hold calls back then, the store does; a
// stop does still, also for what was granted before it.
type leasing struct {
	needed   bool             // calls need a lease of this scope's: it is a method's
	free     [2][]Lease       // by class, by start
	asked    [2]int           // permits asked for, by class, in an Ask under way
	again    [2]limit.Instant // when to ask again, by class
	view     limit.View
	seen     limit.Instant // when view came
	hold     limit.Instant // when there is room by it, at the earliest
	why      [2]limit.WaitKind
	left     limit.Instant // when the store went away last
	alone    bool          // the store is away: the windows judge, capped
	capped   limit.Instant // until when the caps hold though the store judges
	replicas int           // while alone; 0 = nobody knows
	phase    float64       // where among the turns of all this replica's is: see rare
}

// Lease has a Store judge for the scope. Calls need a lease of a method's scope;
// what an application's scope allows is part of it. The phase, from 0 to 1, is
// another for each replica.
func (s *Scope) Lease(needed bool, phase float64) {
	s.leasing = &leasing{needed: needed, phase: phase}
}

// SetPhase sets the phase of Lease.
func (s *Scope) SetPhase(phase float64) { s.leasing.phase = phase }

// next returns when a lease of the class can be used; Never when one has to be
// asked for first. High priority makes do with normal's.
func (l *leasing) next(now limit.Instant, high bool) limit.Instant {
	at := l.first(now, limit.ClassIndex(high))
	if high {
		at = min(at, l.first(now, 0))
	}
	return at
}

func (l *leasing) first(now limit.Instant, class int) limit.Instant {
	for _, x := range l.free[class] {
		if x.By > now {
			return max(now, x.Start)
		}
	}
	return limit.Never
}

// take returns a lease that can be used at now.
func (l *leasing) take(now limit.Instant, high bool) (Lease, bool) {
	for _, class := range [...]int{limit.ClassIndex(high), 0, 1} { // the last for a turn of normal's that skips pacing
		for i, x := range l.free[class] {
			if x.By > now && x.Start <= now {
				l.free[class] = slices.Delete(l.free[class], i, i+1)
				return x, true
			}
		}
	}
	return Lease{}, false
}

// Grant adds a lease.
func (s *Scope) Grant(high bool, x Lease) {
	l := s.leasing
	class := limit.ClassIndex(high)
	i := len(l.free[class])
	for i > 0 && l.free[class][i-1].Start > x.Start {
		i--
	}
	l.free[class] = slices.Insert(l.free[class], i, x)
}

// Spare takes the leases out that can't be used any longer, and those beyond what
// is wanted, by class.
func (s *Scope) Spare(now limit.Instant, wanted [2]int) (spare []Lease) {
	l := s.leasing
	for class := range l.free {
		keep := l.free[class][:0]
		for _, x := range l.free[class] {
			if x.By <= now || len(keep) >= wanted[class] {
				spare = append(spare, x)
				continue
			}
			keep = append(keep, x)
		}
		clear(l.free[class][len(keep):])
		l.free[class] = keep
	}
	return spare
}

// Asking notes that so many permits of each class are being asked for, or with
// negative numbers, that they are no more.
func (s *Scope) Asking(n [2]int) {
	s.leasing.asked[0] += n[0]
	s.leasing.asked[1] += n[1]
}

// Outstanding returns the leases of a class, and those being asked for.
func (s *Scope) Outstanding(class int) int {
	return len(s.leasing.free[class]) + s.leasing.asked[class]
}

// AskAgain notes when a class is to ask again, and why not now.
func (s *Scope) AskAgain(class int, at limit.Instant, why limit.WaitKind) {
	s.leasing.again[class], s.leasing.why[class] = at, why
}

// AskAt returns when a class may ask.
func (s *Scope) AskAt(class int) limit.Instant { return s.leasing.again[class] }

// Adopt takes over what the store knows, which may be more than was learned
// here. It reports whether there is room later than was known, by more than a moment.
func (s *Scope) Adopt(now limit.Instant, v limit.View) (tighter bool) {
	l := s.leasing
	was := max(now, l.hold)
	l.view, l.seen, l.hold = v, now, 0
	for _, x := range v.Windows {
		l.hold = max(l.hold, now.Add(x.Next))
	}
	s.adopt(now, v)
	return l.hold > was.Add(aMoment)
}

const aMoment = 250 * time.Millisecond

func (s *Scope) adopt(now limit.Instant, v limit.View) {
	if v.Stop > 0 {
		s.Gate.stop(now.Add(v.Stop), v.Cause)
	}
	if !v.Known {
		return
	}
	s.known, s.solo = true, s.strikes > 0
	s.windows = slices.DeleteFunc(s.windows, func(w *window) bool {
		return !slices.ContainsFunc(v.Windows, func(x limit.WindowView) bool { return x.W == w.quota.W })
	})
	for _, x := range v.Windows {
		i := slices.IndexFunc(s.windows, func(w *window) bool { return w.quota.W == x.W })
		if i < 0 {
			s.windows = append(s.windows, newWindow(x.Quota))
			continue
		}
		s.windows[i].setLimit(now, x.N)
	}
	s.sort()
	s.halve()
}

// nextLeased is Next for a scope that a store judges for.
func (s *Scope) nextLeased(now limit.Instant, p Policy) limit.Instant {
	l := s.leasing
	at := max(now, s.until)
	if l.needed {
		at = max(at, l.next(now, p.Unpaced))
	}
	if now < l.capped {
		for _, w := range s.windows {
			at = max(at, min(w.uncapped(now, w.expire(now, p.Margin)), l.capped))
		}
	}
	return at
}

// nthLeased is Nth for a scope that a store judges for: by the last view, as if
// what is used of a window expired evenly.
func (s *Scope) nthLeased(now, from limit.Instant, k int) limit.Instant {
	l := s.leasing
	at := max(from, s.until)
	if !l.view.Known {
		return at
	}
	at = max(at, l.hold)
	for _, x := range l.view.Windows {
		n := max(1, x.N>>l.view.Level)
		past := min(1, float64(now.Sub(l.seen))/float64(x.W))
		used := int(float64(x.Used+x.Others) * (1 - past))
		if over := k - (n - min(used, n)); over > 0 {
			at = max(at, from.Add(times(x.W/time.Duration(n), over)))
		}
	}
	return at
}

// Leased returns the lease that the call goes on, if any.
func (h *Hold) Leased() (Lease, bool) { return h.leased, h.leased.By != 0 }

// among adds to an own window's state what the store knows of it.
func (l *leasing) among(w *WindowState) {
	if l == nil || l.alone {
		return
	}
	for _, x := range l.view.Windows {
		if x.W == w.W {
			w.Others = x.Others
			w.Peers = max(0, x.Used-w.Used)
			w.Used = max(w.Used, x.Used) + x.Others
		}
	}
}

// Heard returns how long ago the store last told of the scope.
func (s *Scope) Heard(now limit.Instant) time.Duration { return now.Sub(s.leasing.seen) }
