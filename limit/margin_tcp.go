package limit

import "time"

// TCP is what the operating system knows of the connection that a call goes on.
// The zero value is nothing.
//
// It tells the way to Riot from the time that Riot thinks. The system measures
// the round trip of what it sends, whatever the answer to the call waits for.
type TCP struct {
	Smoothed, Deviation time.Duration // of its round trips, as in RFC 6298: each moves by an eighth, or a quarter, of what is new
	Least               time.Duration // round trip of the last minutes
	Timeout             time.Duration // after which what is not acknowledged is sent again, for the first time
	Resent              int           // segments sent again since the call was about to be sent
	Stuck               bool          // what was lost has not arrived yet
}

// Tells reports whether the way to Riot is known. A round trip shorter than
// anyone's is that to a proxy next door, which says nothing of the way beyond.
func (t TCP) Tells() bool { return t.Least >= nextDoor && t.Timeout > 0 }

const nextDoor = time.Millisecond

// trip is the network's part of the time that a call took: it lies between the
// two.
type trip struct{ least, most time.Duration }

// trip bounds the network's part of what a call has taken so far.
func (t TCP) trip(took time.Duration, answered bool) trip {
	if !t.Tells() {
		return trip{took, took}
	}
	// What is smoothed lags behind, but never so far that these two, of which
	// either would do, were less than the latest round trip. One longer by e than
	// S moves S by e/8 and D by a quarter of what e is above D. And as S was no
	// less than the least before, it can't have been 8 times as far above as S is
	// now; that is the closer one on a new connection, where D is a guess.
	most := min(t.Smoothed+4*t.Deviation, t.Least+8*max(0, t.Smoothed-t.Least))
	if t.Resent > 0 {
		// What was sent twice has no round trip. It may be the call itself: then
		// it was late by the time-outs, each twice the one before.
		most += t.Timeout * (1<<min(t.Resent, mostTimeouts) - 1)
		if !answered && !t.Arrived(took) {
			most = took
		}
	}
	least := min(t.Least, took)
	return trip{least, max(least, min(most, took))}
}

// Arrived reports whether a call that was sent took ago has surely arrived. Had
// it been lost, the system would have sent it again by now, and once more, after
// twice the time: so often that it can't have been this call, or else it has
// been made up for.
func (t TCP) Arrived(took time.Duration) bool {
	switch {
	case !t.Tells():
		return false
	case took >= t.Smoothed+t.Timeout*(2<<min(t.Resent, mostTimeouts)-1):
		return true
	}
	return !t.Stuck && took >= 2*t.Timeout
}

// mostTimeouts of one segment are reckoned with. More segments than that were
// lost together, not one after the other.
const mostTimeouts = 3

// Pending learns from a call that was sent took ago and has no answer yet. What
// is seen before the shortest window is over comes in time: charges still held
// last for the J that is learned by then.
func (m *Margin) Pending(now Instant, took time.Duration, tcp TCP) {
	if tcp.Tells() {
		m.add(now, tcp.trip(took, false), tcp.Resent > 0)
		m.update(now)
	}
}

// add takes in a round trip, and holds on for longer to one that something was
// sent again in.
func (m *Margin) add(now Instant, t trip, resent bool) {
	m.least.add(now, t.least)
	if forgot := m.most.add(now, t.most); forgot {
		m.samples = 0 // silence: what was learned may not hold any more
	}
	if resent {
		m.forced, m.since = max(m.forced, t.most), now
	}
}
