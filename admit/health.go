package admit

import (
	"slices"
	"time"

	"riftrelay/limit"
)

// Denial is one answer that speaks against a key.
type Denial struct {
	At     limit.Instant
	Status int
	Method string
}

// Verdict is what an answer says of the key that it was called with (R18).
type Verdict uint8

// The verdicts.
const (
	Unsaid    Verdict = iota // nothing: a gateway's page, trouble of Riot's
	Accepted                 // the key is good
	Unknown                  // Riot doesn't know the key
	Forbidden                // the key may not do this, or nothing any more
)

// shun is a key that answers 403 for a method, though it is good otherwise.
type shun struct {
	until limit.Instant
	n     int // 403s in a row
}

// How long a key is left alone: a suspect one until its next probe, one that
// was refused a method until it is tried there again. Doubled each time.
const (
	firstProbe = time.Second
	lastProbe  = 5 * time.Minute
	firstShun  = time.Minute
	lastShun   = time.Hour
)

func rising(first, last time.Duration, n int) time.Duration {
	if n > 20 {
		return last
	}
	return min(first<<n, last)
}

// Judge notes what the answer to a call says of its key; before Answer. It
// gives the place of another key that could serve the call, if its own can't,
// else -1.
func (m *Machine) Judge(now limit.Instant, p *Permit, v Verdict, status int) (other int) {
	if p.Key < 0 || v == Unsaid {
		return -1
	}
	k, b := &m.ring.keys[p.Key], p.bucket
	if v == Accepted {
		if k.suspect || k.denied != "" || b.shunned != nil {
			m.accepted(now, p.Key, b)
		}
		return -1
	}
	if k.suspect && p.probe {
		k.probes++
	}
	m.deny(now, p.Key, v, Denial{now, status, b.method})
	if v == Forbidden && !k.suspect {
		m.shun(now, b, p.Key)
	}
	return m.other(now, b, p.Key)
}

// Deny is Judge for what is found out when the call has ended already: the
// probe, if it was one, has failed.
func (m *Machine) Deny(now limit.Instant, id int, d Denial) {
	k := &m.ring.keys[id]
	if k.suspect && k.next > now && k.next < limit.Never {
		k.probes++
		k.next = now.Add(rising(firstProbe, lastProbe, k.probes))
		m.ring.open(id)
	}
	m.deny(now, id, Unknown, d)
}

// Elsewhere gives the place of another key that could serve a call that the key
// with this id can't, else -1.
func (m *Machine) Elsewhere(now limit.Instant, id int, host, method string) (place int) {
	if b := m.buckets[bucketID{host, method, false}]; b != nil {
		return m.other(now, b, id)
	}
	return -1
}

func (m *Machine) deny(now limit.Instant, id int, v Verdict, d Denial) {
	k := &m.ring.keys[id]
	if n := len(k.reasons); n > 0 && k.reasons[n-1].Method == d.Method && k.reasons[n-1].Status == d.Status {
		k.reasons[n-1] = d
	} else {
		k.reasons = append(k.reasons[max(0, n-1):n:n], d)
	}
	if v == Forbidden && (k.denied == "" || k.denied == d.Method) {
		k.denied = d.Method
		return // R18: one 403 is no proof
	}
	if k.suspect || !k.live {
		return
	}
	k.suspect, k.probes, k.next = true, 0, now.Add(firstProbe)
	m.tell(Change{Kind: KeySuspended, At: now, Key: id, Status: d.Status})
	m.ring.open(id)
	m.expel = true
	m.recheck(now) // others may have to do what they were not to
}

// accepted heals a key, at least for the method of bucket b.
func (m *Machine) accepted(now limit.Instant, id int, b *bucket) {
	k := &m.ring.keys[id]
	k.denied, k.reasons = "", nil
	if _, shunned := b.shunned[id]; shunned {
		if delete(b.shunned, id); len(b.shunned) == 0 {
			b.shunned = nil
		}
	}
	if k.suspect {
		k.suspect, k.probes = false, 0
		m.tell(Change{Kind: KeyReturned, At: now, Key: id})
		m.ring.open(id)
		m.recheck(now)
	}
}

func (m *Machine) shun(now limit.Instant, b *bucket, id int) {
	if b.shunned == nil {
		b.shunned = map[int]shun{}
	}
	s := b.shunned[id]
	s.until = now.Add(rising(firstShun, lastShun, s.n))
	s.n++
	b.shunned[id] = s
}

// tries has the others wait for the outcome of a call that tries whether a
// shunned key may do what it was refused.
func (b *bucket) tries(now limit.Instant, id int) {
	if s, found := b.shunned[id]; found && s.until <= now {
		s.until = now.Add(firstProbe)
		b.shunned[id] = s
	}
}

// shuns gives until when bucket b avoids a key; 0 if it doesn't, or if there is
// no other to go on.
func (r *ring) shuns(now limit.Instant, b *bucket, id int, ids []int) limit.Instant {
	s, found := b.shunned[id]
	if !found || s.until <= now {
		return 0
	}
	for _, other := range ids {
		if other != id && r.from[other] == 0 && b.shunned[other].until <= now {
			return s.until
		}
	}
	return 0
}

// other finds, for a call that a key could not serve, the key of its group that
// can do so first.
func (m *Machine) other(now limit.Instant, b *bucket, id int) (place int) {
	best, first := -1, limit.Never
	p := m.policy(b.host, class{}, true)
	for _, o := range m.ring.candidates(class{pin: -1, group: int32(m.ring.keys[id].group)}) {
		if o == id || m.ring.from[o] != 0 || b.shunned[o].until > now {
			continue
		}
		if t := max(m.app(b.host, o).Next(now, p), m.method(b, o).Next(now, p)); best < 0 || t < first {
			best, first = o, t
		}
	}
	return slices.Index(m.ring.places, best)
}

// probed ends a probe.
func (m *Machine) probed(now limit.Instant, p *Permit) {
	p.probe = false
	if k := &m.ring.keys[p.Key]; k.suspect {
		k.next = now.Add(rising(firstProbe, lastProbe, k.probes))
		m.ring.open(p.Key)
		m.recheck(now)
	}
}

// KeyHealth is how a key is.
type KeyHealth struct {
	Suspect bool
	Probe   limit.Instant // of a suspect key: when the next probe may go; Never while one is under way
	Reasons []Denial      // the latest two that speak against it

	Disabled bool          // by an operator: no calls at all
	Since    limit.Instant // of a disabled key
}

// Good reports whether a key takes ordinary calls.
func (h KeyHealth) Good() bool { return !h.Suspect && !h.Disabled }

// KeyHealth tells how the key with this id is.
func (m *Machine) KeyHealth(id int) KeyHealth {
	k := m.ring.keys[id]
	h := KeyHealth{Suspect: k.suspect, Reasons: slices.Clone(k.reasons), Disabled: k.disabled, Since: k.since}
	if k.suspect {
		h.Probe = k.next
	}
	return h
}
