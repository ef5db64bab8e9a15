package riftrelay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
)

// How keys are travels with beats: what one replica finds out of a key, and what
// an operator decides, is told to the store, and the others go along. Of each
// trait the last word counts.

// trait is one thing that may be the matter with a key.
type trait struct {
	kid string
	of  limit.KeyTrait
}

// newsOfKeys returns what is otherwise with the keys than the store was told. A
// store that has not been heard yet is told nothing: it may know better than
// what this replica has kept over a restart. l.mu is held.
func (c *cluster) newsOfKeys(now limit.Instant) (news []limit.KeyHealth) {
	if !c.met {
		return nil
	}
	for _, h := range c.l.inUse() {
		health := c.l.machine.KeyHealth(h.id)
		for _, of := range [...]limit.KeyTrait{limit.KeySuspect, limit.KeyDisabled} {
			is, since := traitOf(health, of, now)
			if is != c.told[trait{h.kid, of}] {
				news = append(news, limit.KeyHealth{Key: h.kid, Of: of, Is: is, For: max(0, now.Sub(since))})
			}
		}
	}
	return news
}

func traitOf(h sched.KeyHealth, of limit.KeyTrait, now limit.Instant) (is bool, since limit.Instant) {
	since = now
	if of == limit.KeyDisabled {
		if h.Disabled {
			since = h.Since
		}
		return h.Disabled, since
	}
	if n := len(h.Reasons); h.Suspect && n > 0 {
		since = h.Reasons[n-1].At
	}
	return h.Suspect, since
}

// heardOfKeys takes over what the store says of the keys after it was told the
// news. l.mu is held.
func (c *cluster) heardOfKeys(now limit.Instant, news, keys []limit.KeyHealth) {
	c.met = true
	for _, k := range news {
		c.told[trait{k.Key, k.Of}] = k.Is
	}
	heard := map[trait]bool{}
	for _, k := range keys {
		heard[trait{k.Key, k.Of}] = true
		c.adoptKey(now, k)
	}
	for t := range c.told {
		if !heard[t] {
			delete(c.told, t) // the store has forgotten it: it is told again
		}
	}
}

// adoptKey goes along with what the store says of a key, unless there are news
// that it was not told yet.
func (c *cluster) adoptKey(now limit.Instant, k limit.KeyHealth) {
	t := trait{k.Key, k.Of}
	told, known := c.told[t]
	if known && told == k.Is {
		return
	}
	id, found := c.l.idOf(k.Key)
	if !found || id < 0 {
		return
	}
	m := c.l.machine
	if is, _ := traitOf(m.KeyHealth(id), k.Of, now); known && is != told {
		return
	}
	switch {
	case k.Of == limit.KeySuspect:
		m.Suspected(now, id, k.Is)
	case k.Is:
		m.Disable(now, id, now.Add(-k.For))
	default:
		m.Enable(now, id)
	}
	c.told[t] = k.Is
}

// overrules reports whether the store has said already whether the key is
// disabled, which is of later than what was saved. l.mu is held.
func (c *cluster) overrules(kid string) bool {
	if c == nil {
		return false
	}
	_, known := c.told[trait{kid, limit.KeyDisabled}]
	return known
}

// phaseOf returns a number from 0 to 1 that is another for each replica.
func phaseOf(replica string) float64 {
	sum := sha256.Sum256([]byte(replica))
	return float64(binary.BigEndian.Uint32(sum[:])) / (1 << 32)
}

func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// kidOf names the key with this id for the store; empty for calls without one.
// l.mu is held.
func (l *Limiter) kidOf(id int) string {
	if id < 0 {
		return ""
	}
	return l.held[id].kid
}

// idOf is the reverse of kidOf, for keys in use. l.mu is held.
func (l *Limiter) idOf(kid string) (id int, found bool) {
	if kid == "" {
		return -1, true
	}
	for _, h := range l.inUse() {
		if h.kid == kid {
			return h.id, true
		}
	}
	return 0, false
}

// StoreState is how the Config.Store is doing.
type StoreState struct {
	Replica  string
	Replicas int           // that live, this one among them
	Trip     time.Duration // of recent calls, there and back
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
