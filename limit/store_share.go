package limit

import (
	"cmp"
	"math"
	"slices"
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
	trip    millis // least round trip; 0 if none
}

// seatLasts is how long a replica that wants nothing keeps its place.
const seatLasts = millis(10_000)

// seat gives the replica's place, made if need be. One that comes back to wait
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

// share gives how much of room is the replica's own: as much as brings it up to
// the level to which room lifts all who want some of this class. me.want has to
// be what it wants now.
func (s *storeScope) share(now millis, me *seat, class, room int) int {
	want := me.want[class]
	if room <= 0 || want == 0 {
		return 0
	}
	var live []*seat
	for _, x := range s.seats {
		if x == me || x.until > now && x.want[class] > 0 {
			live = append(live, x)
		}
	}
	if len(live) == 1 {
		return min(want, room)
	}
	// Pour: the level rises through the places, from the least served up. At
	// each there are those who drink, having been reached and not yet sated.
	var marks []int
	for _, x := range live {
		marks = append(marks, x.served, x.served+x.want[class])
	}
	slices.Sort(marks)
	level, left := marks[0], room
	for _, mark := range marks[1:] {
		drink := 0
		for _, x := range live {
			if x.served <= level && level < x.served+x.want[class] {
				drink++
			}
		}
		need := drink * (mark - level)
		if need > left {
			level += (left + drink - 1) / drink // rounded up: who asks first has what is left over
			break
		}
		level, left = mark, left-need
	}
	return min(want, room, max(0, level-me.served))
}

// claimed gives when the first of the other replicas' claims ends; 0 when there
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
