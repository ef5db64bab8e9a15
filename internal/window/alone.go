package window

import (
	"math"
	"time"

	"riftrelay/internal/limit"
)

// While the Store is away each replica judges by itself, within its share of
// every window.

// aloneShare is the part of a limit that all replicas together use while the
// store is away: the rest is for what they hear too late.
const aloneShare = 0.9

// GoAlone has the windows judge, of which this replica, one of so many, may use
// its share. What is free by the last view is shared out; what others have used
// is theirs until it has expired. It is called again when their number changes.
//
// Where nobody knows their number, 0, the replica goes by Riot's counts, as
// beside another program.
func (s *Scope) GoAlone(now limit.Instant, replicas int, j time.Duration) {
	l := s.leasing
	was := l.alone                                     // with another number of replicas: of what each has, none has more until a window has passed
	again := !was && now < l.capped && l.seen < l.left // away, back and away, with no word from it in between: what held still does
	l.left, l.alone, l.capped, l.replicas = now, true, limit.Never, replicas
	l.free, l.again = [2][]Lease{}, [2]limit.Instant{}
	for _, w := range s.windows {
		w.expire(now, j)
		if again && w.capAt != 0 {
			continue
		}
		capAt := now.Add(w.quota.W + limit.SendBy + j)
		share := w.share(capAt, l)
		if n, on := w.capOf(now); on && was {
			w.cap, w.capNext, w.capAt = min(n, share), share, capAt
			continue
		}
		most := int(aloneShare * float64(w.n()))
		used := most
		for _, x := range l.view.Windows {
			if x.W == w.quota.W {
				used = x.Used + x.Others + w.during(now.Sub(l.seen)) // others went on meanwhile
			}
		}
		room := max(0, most-used) / max(1, replicas)
		w.cap, w.capNext = min(share, w.pending+w.own()+room), share
		w.spare, w.spareBy = w.sentTotal+w.pending+room, now.Add(aloneWary)
		if !s.known {
			w.cap, w.spareBy = share, 0 // calls go one by one, until an answer tells
		}
		w.capAt = capAt
	}
}

// share returns this replica's share of the window. One that is less than a call is
// a call at a time, the first not before from.
func (w *window) share(from limit.Instant, l *leasing) int {
	most := max(1, int(aloneShare*float64(w.n())))
	replicas := max(1, l.replicas)
	w.rare, w.strangers = rare{}, l.replicas == 0
	if most < replicas {
		turn := rarely * w.quota.W / time.Duration(most)
		w.rare.every, w.rare.lasts = turn*time.Duration(replicas), turn/rareLasts
		w.rare.from = from.Add(time.Duration(l.phase * float64(w.rare.every)))
	}
	return most / replicas
}

// rare is the turns of a replica whose share of a window is less than one call: a
// call in each. Replicas have theirs one after the other, by their ranks. Some lose
// the store a moment later, so a turn can be used only for its first part, and all
// replicas together use half of what they could.
type rare struct {
	every time.Duration // from one turn to the next; 0: the share is a call or more
	lasts time.Duration // how long a turn can be used
	from  limit.Instant // when the next one begins, or the present one did
}

const (
	rarely    = 2
	rareLasts = 4 // a turn can be used for a fourth of it
)

// next returns when a call may go.
func (r *rare) next(now limit.Instant) limit.Instant {
	if now < r.from.Add(r.lasts) {
		return max(now, r.from)
	}
	return r.from.Add(times(r.every, int(now.Sub(r.from)/r.every)+1))
}

// took notes that a call goes: its turn is over.
func (r *rare) took(now limit.Instant) {
	if r.every > 0 {
		r.from = r.from.Add(times(r.every, max(0, int(now.Sub(r.from)/r.every))+1))
	}
}

// during returns how many calls all replicas together start in d at most, spread
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
func (s *Scope) Rejoin(until limit.Instant) {
	if s.leasing.blind() { // who seemed to be others were replicas, which tell of themselves
		for _, w := range s.windows {
			w.others, w.strangers = others{}, false
		}
	}
	s.leasing.alone, s.leasing.capped = false, until
}

// Apart reports whether the windows judge, the store being away.
func (s *Scope) Apart() bool { return s.leasing != nil && s.leasing.alone }

// uncapped returns when the cap lets one more call go; now if there is none.
func (w *window) uncapped(now limit.Instant, kept time.Duration) limit.Instant {
	n, on := w.capOf(now)
	used := w.pending + w.own()
	switch {
	case !on:
		return now
	case w.rare.every > 0:
		return w.rare.next(now)
	case used < n:
		return now
	}
	at := w.freed(used-n+1, kept)
	if now < w.capAt {
		at = min(at, w.capAt) // it is another cap then
	}
	return at
}

// capOf says how many own charges the window may hold at now; on says that there
// is such a bound. A replica that doesn't know of the others, and sees them in
// Riot's counts, takes a little of what they may have as their share.
func (w *window) capOf(now limit.Instant) (n int, on bool) {
	if w.capAt == 0 {
		return 0, false
	}
	n = w.cap
	if now >= w.capAt {
		n = w.capNext
	}
	if w.strangers && w.others.about(now, w.quota.W) {
		n = max(1, n/amongStrangers)
	}
	return n, true
}

const amongStrangers = 20

// blind reports whether other replicas are strangers: known only by Riot's
// counts.
func (l *leasing) blind() bool { return l.alone && l.replicas == 0 }
