package sched

import (
	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// class tells lanes apart that wait for different budgets.
type class struct {
	high    bool
	keyless bool
	first   bool   // of the keys, where not any will do
	unbound bool   // as Request.Unbound
	budget  uint16 // as Request.Budget
	pin     int32  // place of the key, or -1
	group   int32  // of keys, where it isn't pinned
}

// bucket is one method on one host: what Riot counts together, and the calls
// that wait for it.
type bucket struct {
	host     *host
	method   string
	keyless  bool
	parts    int         // see Config.Parts
	service  window.Gate // stops all keys
	set      *scopeSet   // its scopes, which others may have too
	endpoint *endpoint   // its API on the host
	tighter  bool        // in Machine.tighter
	lanes    []*lane
	queued   int
	normal   int // of queued, those of normal priority
	credit   int // as host.credit, for the method's own budget
}

// find returns the lane of a class; nil if there was none so far.
func (b *bucket) find(c class) *lane {
	for _, l := range b.lanes {
		if l.line.class == c {
			return l
		}
	}
	return nil
}

// lane returns the lane of a class, made if need be.
func (b *bucket) lane(c class) *lane {
	if l := b.find(c); l != nil {
		return l
	}
	l := &lane{bucket: b, line: b.host.line(c)}
	l.pos, l.node.lane = -1, l
	b.lanes = append(b.lanes, l)
	return l
}

// waits reports whether a call of normal priority waits that could go on the
// key.
func (b *bucket) waits(key int) bool {
	for _, l := range b.lanes {
		if c := l.line.class; l.n > 0 && !c.high && b.host.ring.serves(c, key) {
			return true
		}
	}
	return false
}

// owedIn finds the lane of normal priority whose turn it is in the method's
// budget before another grant to high on the key, which has room for one more
// call: of those waiting for it, the one served longest ago. It is nil if there
// is none. Lanes that the cap of their own budget holds back are left out.
func (m *Machine) owedIn(now limit.Instant, b *bucket, key int) *lane {
	if b.credit < fairShare || b.normal == 0 {
		return nil
	}
	var best *lane
	for _, l := range b.lanes {
		c := l.line.class
		if l.n == 0 || c.high || !b.host.ring.serves(c, key) || best != nil && best.served <= l.served {
			continue
		}
		policy := m.policy(b.host, c, true)
		policy.High = true // as in longestUnpaced
		if c.budget == 0 || m.fits(now, b, key, policy) {
			best = l
		}
	}
	return best
}

// fits reports whether a call of bucket b could go on the key.
func (m *Machine) fits(now limit.Instant, b *bucket, key int, p window.Policy) bool {
	if key < 0 {
		return m.method(b, 0).Next(now, p) <= now
	}
	return m.app(b.host, key).Next(now, p) <= now && m.method(b, key).Next(now, p) <= now
}
