package memstore

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// seat is what one replica wants of a scope, and has had of it. Room goes to
// the replica that has had least, so that who is near to the store, or asks
// more often, gets no more than its share; what one replica doesn't want the
// others get (max-min fairness).
type seat struct {
	replica string
	want    [2]int // by class: normal, high
	until   millis // how long its claim lasts: it has to ask again
	served  int
	margin  millis // J
}

// seatLasts is how long a replica that wants nothing keeps its place.
const seatLasts = millis(10_000)

// seat returns the replica's place, made if need be. One that comes back to wait
// doesn't bring along what it has not used before.
func (s *storeScope) seat(now millis, replica string, wants bool) *seat {
	s.seats = slices.DeleteFunc(s.seats, func(x *seat) bool { return x.until+seatLasts <= now })
	i, found := slices.BinarySearchFunc(s.seats, replica, func(x *seat, name string) int { return cmp.Compare(x.replica, name) })
	if !found {
		s.seats = slices.Insert(s.seats, i, &seat{replica: replica})
	}
	me := s.seats[i]
	if wants && !me.claims(now) {
		least, most := math.MaxInt, 0
		for _, x := range s.seats {
			most = max(most, x.served)
			if x.claims(now) {
				least = min(least, x.served)
			}
		}
		me.served = max(me.served, min(least, most)) // where nobody waits, all are even
	}
	return me
}

// claims reports whether the replica waits for anything.
func (x *seat) claims(now millis) bool { return x.until > now && x.want[0]+x.want[1] > 0 }

// wanted sums what the other replicas want of a class.
func (s *storeScope) wanted(now millis, me *seat, class int) int {
	n := 0
	for _, x := range s.seats {
		if x != me && x.until > now {
			n += x.want[class]
		}
	}
	return n
}

// share returns how much of room is the replica's own: as much as brings it up to
// the level to which room lifts all who want some of this class, rounded up: who
// asks first has what is left over. me.want has to be what it wants now.
func (s *storeScope) share(now millis, me *seat, class, room int) int {
	if room <= 0 {
		return 0
	}
	// The least number with which the room is used up.
	return sort.Search(min(me.want[class], room), func(n int) bool { return s.poured(now, me, class, me.served+n) >= room })
}

// poured returns how much it takes to bring all who want some of a class up to a
// level.
func (s *storeScope) poured(now millis, me *seat, class, level int) (n int) {
	for _, x := range s.seats {
		if x == me || x.until > now {
			n += min(max(0, level-x.served), x.want[class])
		}
	}
	return n
}

// ahead counts the grants that others have a claim to before the replica's next
// one of the class: those that bring them up to what it has had, and for normal
// calls those of high priority, of which no more than so many come before one.
// Of two that are even the first by name is ahead, so that they don't both come
// for one slot.
func (s *storeScope) ahead(now millis, me *seat, class int) int {
	even, high := 0, 0
	for _, x := range s.seats {
		if x == me || x.until <= now {
			continue
		}
		d := me.served - x.served
		if x.replica < me.replica {
			d++
		}
		even += min(max(0, d), x.want[class])
		high += x.want[classHigh]
	}
	if class == classHigh {
		return even
	}
	return even + min(high, fairStore)
}

// claimed returns when the first of the other replicas' claims ends; 0 when there
// is none.
func (s *storeScope) claimed(now millis, me string) millis {
	first := millis(0)
	for _, x := range s.seats {
		if x.replica != me && x.claims(now) && (first == 0 || x.until < first) {
			first = x.until
		}
	}
	return first
}
