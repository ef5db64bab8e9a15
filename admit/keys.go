package admit

import (
	"slices"
	"time"

	"riftrelay/limit"
)

// maxKeys bounds the keys that are remembered: those in the list, and those of
// which something counts still.
const maxKeys = 1 << 12

// ring is the keys: which there are, which calls each is for, and how it is.
//
// A key has an id, which scopes and permits go by, and a place in the list,
// which callers go by: when the key in a place is replaced, whoever waits for
// the place stays where he is.
type ring struct {
	places []int           // ids, in the order of the list
	groups [][]int         // of those, each group's
	keys   []key           // by id
	from   []limit.Instant // by id, when the key takes calls: 0 always, Never not before something happens
}

// key is what is known of one key.
type key struct {
	live    bool // in places
	group   int
	index   int // in its group
	suspect bool
	probes  int      // that failed in a row
	denied  string   // the method that answered 403 since the last success; empty if none
	reasons []Denial // of the suspicion, the latest two
}

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

// candidates gives the ids of the keys that calls of a class may go on.
func (r *ring) candidates(c class) []int {
	switch pin := int(c.pin); {
	case pin < 0 && int(c.group) < len(r.groups):
		return r.groups[c.group]
	case pin >= 0 && pin < len(r.places):
		return r.places[pin : pin+1]
	}
	return nil
}

// choice is candidates, of which only one is left for a call of bucket b that
// wants the first that is any good: or a suspect one before it whose probe can
// go.
func (m *Machine) choice(now limit.Instant, b *bucket, c class, p limit.Policy) []int {
	ids := m.ring.candidates(c)
	if !c.first {
		return ids
	}
	first := -1
	for i, id := range ids {
		switch from := m.ring.from[id]; {
		case from > now || from > 0 && m.app(b.host, id).Next(now, p) > now:
			continue
		case b.shunned[id].until <= now:
			return ids[i : i+1]
		}
		if first < 0 {
			first = i
		}
	}
	if first < 0 {
		return ids
	}
	return ids[first : first+1]
}

// serves reports whether calls of a class may go on a key.
func (r *ring) serves(c class, id int) bool {
	switch {
	case c.keyless:
		return true
	case c.first:
		ids := r.candidates(c)
		i := slices.IndexFunc(ids, func(id int) bool { return r.from[id] == 0 })
		return i >= 0 && ids[i] == id
	case c.pin < 0:
		return r.keys[id].live && r.keys[id].group == int(c.group)
	}
	return int(c.pin) < len(r.places) && r.places[c.pin] == id
}

// usable reports whether any of the keys that calls of a class may go on is
// beyond suspicion.
func (r *ring) usable(c class) bool {
	if c.keyless {
		return true
	}
	for _, id := range r.candidates(c) {
		if r.from[id] == 0 {
			return true
		}
	}
	return false
}

// next gives when a class of calls whose keys are all suspect can send a probe;
// while one is under way, when it should be over.
func (r *ring) next(now limit.Instant, c class) limit.Instant {
	at := limit.Never
	for _, id := range r.candidates(c) {
		from := r.from[id]
		if from == limit.Never {
			from = now.Add(firstProbe)
		}
		at = min(at, max(now, from))
	}
	return at
}

// SetKeys says which keys there are, in the order of the list: their ids, and
// the group of each (nil: all are of group 0). An id of a key that isn't known
// comes from AddKey. What is charged on a key stays as long as its id.
func (m *Machine) SetKeys(now limit.Instant, ids, groups []int) {
	r := m.ring
	for id := range r.keys {
		r.keys[id].live = false
	}
	n := 1
	for _, g := range groups {
		n = max(n, g+1)
	}
	r.places, r.groups = slices.Clone(ids), make([][]int, n)
	for i, id := range ids {
		g := 0
		if groups != nil {
			g = groups[i]
		}
		k := &r.keys[id]
		k.live, k.group, k.index = true, g, len(r.groups[g])
		r.groups[g] = append(r.groups[g], id)
	}
	m.expel = true
	m.recheck(now)
}

// AddKey gives the id of a new key, of which nothing is known: that of a key
// long gone if possible. SetKeys has to come next. It is -1 when too many keys
// have come and gone too fast. The ids of keys about to come back are spared.
func (m *Machine) AddKey(now limit.Instant, spare []int) int {
	r := m.ring
	for id := range r.keys {
		if !r.keys[id].live && !slices.Contains(spare, id) && m.forget(now, id) {
			r.keys[id], r.from[id] = key{live: true}, 0
			return id
		}
	}
	if len(r.keys) == maxKeys {
		return -1
	}
	r.keys, r.from = append(r.keys, key{live: true}), append(r.from, 0)
	return len(r.keys) - 1
}

// forget drops the scopes of a key, unless anything counts on them still.
func (m *Machine) forget(now limit.Instant, id int) bool {
	for _, h := range m.hosts {
		if s := at(h.apps, id); s != nil && !s.Idle(now, h.margin.J()) {
			return false
		}
	}
	for _, b := range m.buckets {
		if s := at(b.set.scopes, id); s != nil && !b.keyless && !s.Idle(now, b.host.margin.J()) {
			return false
		}
	}
	for _, h := range m.hosts {
		if id < len(h.apps) {
			h.apps[id] = nil
		}
	}
	for _, b := range m.buckets {
		if id < len(b.set.scopes) && !b.keyless {
			b.set.scopes[id] = nil
			delete(b.shunned, id)
		}
	}
	return true
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
	if k.suspect && m.ring.from[id] > now && m.ring.from[id] < limit.Never {
		k.probes++
		m.ring.from[id] = now.Add(rising(firstProbe, lastProbe, k.probes))
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
	k.suspect, k.probes = true, 0
	m.ring.from[id] = now.Add(firstProbe)
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
		m.ring.from[id] = 0
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
	p := m.policy(b.host, true)
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
		m.ring.from[p.Key] = now.Add(rising(firstProbe, lastProbe, k.probes))
		m.recheck(now)
	}
}

// Expel refuses the calls in the queues whose keys have all become suspect, or
// are no more. It belongs after whatever may have brought that about: Judge,
// Deny and SetKeys.
func (m *Machine) Expel(now limit.Instant, refuse func(*Waiter, Refusal)) {
	if !m.expel {
		return
	}
	m.expel = false
	for _, b := range m.buckets {
		for _, l := range b.lanes {
			if l.n == 0 || m.ring.usable(l.line.class) {
				continue
			}
			why := Refusal{NoKey, m.ring.next(now, l.line.class)}
			for l.n > 0 {
				w := l.head
				m.leave(l, w)
				refuse(w, why)
			}
		}
	}
}

// KeyHealth is how a key is.
type KeyHealth struct {
	Suspect bool
	Probe   limit.Instant // of a suspect key: when the next probe may go; Never while one is under way
	Reasons []Denial      // the latest two that speak against it
}

// KeyHealth tells how the key with this id is.
func (m *Machine) KeyHealth(id int) KeyHealth {
	k := m.ring.keys[id]
	h := KeyHealth{Suspect: k.suspect, Reasons: slices.Clone(k.reasons)}
	if k.suspect {
		h.Probe = m.ring.from[id]
	}
	return h
}
