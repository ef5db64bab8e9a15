package limit

import (
	"math"
	"slices"
	"time"
)

// Lease is a permit of a Store's that no call has used yet.
type Lease struct {
	Stub  Stub
	Start Instant // not before
	By    Instant // sent by then, or given back
	Bases *Bases
}

// Bases are what a Store wants to be told with the counts of a call: see
// Fact.Bases. Calls granted together share them.
type Bases struct {
	App, Method []Quota
}

// leasing is a scope's side of a Store: what was granted and not yet used. The
// windows and the gate's turns don't hold calls back then, the store does; a
// stop does still, also for what was granted before it.
type leasing struct {
	needed   bool       // calls need a lease of this scope's: it is a method's
	free     [2][]Lease // by class, by start
	asked    [2]int     // permits asked for, by class, in an Ask under way
	again    [2]Instant // when to ask again, by class
	view     View
	seen     Instant // when view came
	why      [2]WaitKind
	left     Instant // when the store went away last
	alone    bool    // the store is away: the windows judge, capped
	capped   Instant // until when the caps hold though the store judges
	replicas int     // while alone
}

// Lease has a Store judge for the scope. Calls need a lease of a method's scope;
// what an application's scope allows is part of it.
func (s *Scope) Lease(needed bool) { s.leasing = &leasing{needed: needed} }

// next gives when a lease of the class can be used; Never when one has to be
// asked for first. High priority makes do with normal's.
func (l *leasing) next(now Instant, high bool) Instant {
	at := l.first(now, index(high))
	if high {
		at = min(at, l.first(now, 0))
	}
	return at
}

func index(high bool) int {
	if high {
		return 1
	}
	return 0
}

func (l *leasing) first(now Instant, class int) Instant {
	for _, x := range l.free[class] {
		if x.By > now {
			return max(now, x.Start)
		}
	}
	return Never
}

// take gives a lease that can be used at now.
func (l *leasing) take(now Instant, high bool) (Lease, bool) {
	for _, class := range [...]int{index(high), 0, 1} { // the last for a turn of normal's that skips pacing
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
	class := index(high)
	i := len(l.free[class])
	for i > 0 && l.free[class][i-1].Start > x.Start {
		i--
	}
	l.free[class] = slices.Insert(l.free[class], i, x)
}

// Spare takes the leases out that can't be used any more, and those beyond what
// is wanted, by class.
func (s *Scope) Spare(now Instant, wanted [2]int) (spare []Lease) {
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

// Outstanding gives the leases of a class, and those being asked for.
func (s *Scope) Outstanding(class int) int {
	return len(s.leasing.free[class]) + s.leasing.asked[class]
}

// AskAgain notes when a class is to ask again, and why not now.
func (s *Scope) AskAgain(class int, at Instant, why WaitKind) {
	s.leasing.again[class], s.leasing.why[class] = at, why
}

// AskAt gives when a class may ask.
func (s *Scope) AskAt(class int) Instant { return s.leasing.again[class] }

// Adopt takes over what the store knows, which may be more than was learned
// here.
func (s *Scope) Adopt(now Instant, v View) {
	l := s.leasing
	l.view, l.seen = v, now
	if v.Stop > 0 {
		s.Gate.stop(now.Add(v.Stop), v.Cause)
	}
	if !v.Known {
		return
	}
	s.known, s.solo = true, s.strikes > 0
	s.windows = slices.DeleteFunc(s.windows, func(w *window) bool {
		return !slices.ContainsFunc(v.Windows, func(x WindowView) bool { return x.W == w.quota.W })
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

// Caps.
const (
	// aloneShare is the part of a limit that all replicas together use while
	// the store is away: the rest is for what they hear of late.
	aloneShare = 0.9
)

// GoAlone has the windows judge, of which this replica, one of so many, may use
// its share. What is free by the last view is shared out; what others have used
// is theirs until it has expired. It is called again when their number changes.
func (s *Scope) GoAlone(now Instant, replicas int, j time.Duration) {
	l := s.leasing
	was := l.alone                                     // with another number of replicas: of what each has, none has more until a window has passed
	again := !was && now < l.capped && l.seen < l.left // away, back and away, with no word from it in between: what held still does
	l.left, l.alone, l.capped, l.replicas = now, true, Never, max(1, replicas)
	replicas = l.replicas
	l.free, l.again = [2][]Lease{}, [2]Instant{}
	for _, w := range s.windows {
		w.expire(now, j)
		if again && w.capAt != 0 {
			continue
		}
		most := int(aloneShare * float64(w.n()))
		if n, on := w.capOf(now); on && was {
			share := most / replicas
			w.cap, w.capNext, w.capAt = min(n, share), share, now.Add(w.quota.W+SendBy+j)
			continue
		}
		share, used := most/replicas, most
		for _, x := range l.view.Windows {
			if x.W == w.quota.W {
				used = x.Used + x.Others + w.during(now.Sub(l.seen)) // others went on meanwhile
			}
		}
		room := max(0, most-used) / replicas
		w.cap, w.capNext = min(share, w.pending+w.own()+room), share
		w.spare, w.spareBy = w.sentTotal+w.pending+room, now.Add(aloneWary)
		if !s.known {
			w.cap, w.spareBy = share, 0 // calls go one by one, until an answer tells
		}
		w.capAt = now.Add(w.quota.W + SendBy + j)
	}
}

// during gives how many calls all replicas together start in d at most, spread
// evenly.
func (w *window) during(d time.Duration) int {
	return int(math.Ceil(float64(w.n()) * min(1, float64(d)/float64(w.quota.W))))
}

// aloneWary is for how long a replica alone uses its share of what was free, and
// not again what its own calls give back: if it alone has lost the store, the
// others do so.
const aloneWary = 400 * time.Millisecond

// Rejoin has the store judge again. Until the moment given, when all replicas
// have told it what they spent, the caps hold as well.
func (s *Scope) Rejoin(until Instant) { s.leasing.alone, s.leasing.capped = false, until }

// Apart reports whether the windows judge, the store being away.
func (s *Scope) Apart() bool { return s.leasing != nil && s.leasing.alone }

// capOf says how many own charges the window may hold at now; on says that there
// is such a bound.
func (w *window) capOf(now Instant) (n int, on bool) {
	switch {
	case w.capAt == 0:
		return 0, false
	case now >= w.capAt:
		return w.capNext, true
	}
	return w.cap, true
}

// nextLeased is Next for a scope that a store judges for.
func (s *Scope) nextLeased(now Instant, p Policy) Instant {
	l := s.leasing
	at := max(now, s.until)
	if l.needed {
		at = max(at, l.next(now, p.Unpaced))
	}
	if now < l.capped {
		for _, w := range s.windows {
			kept := w.expire(now, p.Margin)
			if n, on := w.capOf(now); on && w.pending+w.own() >= n {
				at = max(at, w.freed(w.pending+w.own()-n+1, kept))
			}
		}
	}
	return at
}

// nthLeased is Nth for a scope that a store judges for: by the last view, as if
// what is used of a window expired evenly.
func (s *Scope) nthLeased(now, from Instant, k int) Instant {
	l := s.leasing
	at := max(from, s.until)
	if !l.view.Known {
		return at
	}
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

// Leased gives the lease that the call goes on, if any.
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

// Bases gives what is kept of a view for the counts of the calls granted with
// it.
func (v View) Bases() []Quota {
	list := make([]Quota, len(v.Windows))
	for i, w := range v.Windows {
		list[i] = Quota{w.Base, w.W}
	}
	return list
}

// Since gives what of v was spent in the last d, and its limits.
func (v Saved) Since(d time.Duration) Saved {
	windows := make([]SavedWindow, len(v.Windows))
	for i, w := range v.Windows {
		windows[i] = SavedWindow{N: w.N, W: w.W}
		for _, c := range w.Own {
			if c.Age <= d {
				windows[i].Own = append(windows[i].Own, c)
			}
		}
	}
	v.Windows = windows
	return v
}
