package riftrelay

import (
	"context"
	"errors"
	"time"
)

// StoreState is how the Config.Store is doing.
type StoreState struct {
	Replica  string
	Replicas int           // that live, this one among them
	Trip     time.Duration // there and back, of late
	Away     string        // why it can't be reached: Why() of its error, if it has that; empty while it can
	For      time.Duration // how long it has been away
	Alone    bool          // this replica goes on by itself, within its share
	Returned int64         // permits given back unused, ever
	Void     int64         // permits that came too late or were not used in time, ever

	// Elsewhere names the parts of the store, databases of a Redis server, in which
	// other relays are: they share no limits with this one.
	Elsewhere []string
}

// state describes the store. l.mu is held.
func (c *cluster) state() *StoreState {
	d := c.l.machine.Desk()
	s := &StoreState{Replica: c.replica, Replicas: c.peers, Trip: c.trip, Alone: d.Alone, Returned: d.Returned, Void: d.Void, Elsewhere: c.apart}
	if c.away != nil && c.gone {
		s.Away, s.For = c.away.Error(), time.Since(c.since)
		var e interface{ Why() string } // it need not say again that the store is away
		if errors.Is(c.away, context.DeadlineExceeded) {
			s.Away = "no answer within " + storeTimeout.String()
		} else if errors.As(c.away, &e) {
			s.Away = e.Why()
		}
		if !c.met {
			s.Away = neverReached + ": " + s.Away
		}
	}
	return s
}
