package sched

import (
	"slices"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
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
	from   []limit.Instant // by id, which calls the key takes: 0 all, probesOnly a suspect one, Never a disabled one
}

// key is what is known of one key.
type key struct {
	live    bool // in places
	group   int
	index   int      // in its group
	suspect bool     // Riot refuses it wherever it was tried
	against evidence // the refusals since the key's last success

	disabled bool          // by an operator: no calls at all
	since    limit.Instant // if disabled
}

// open sets from when a key takes calls, after whatever may have changed that.
func (r *ring) open(id int) {
	switch k := &r.keys[id]; {
	case k.disabled:
		r.from[id] = limit.Never
	case k.suspect:
		r.from[id] = probesOnly
	default:
		r.from[id] = 0
	}
}

// candidates returns the ids of the keys that calls of a class may go on.
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
func (m *Machine) choice(now limit.Instant, b *bucket, c class, p window.Policy) []int {
	ids := m.ring.candidates(c)
	if !c.first {
		return ids
	}
	first := -1
	for i, id := range ids {
		switch from := m.opens(b, id); {
		case from > now || from > 0 && m.appNext(now, b, id, p) > now:
			continue
		case b.endpoint.avoids(id) <= now:
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

// findFirst is find for a call that wants the first key that is any good. Which
// that is depends on the method, and may have changed before the key has room.
func (m *Machine) findFirst(now limit.Instant, l *lane, service limit.Instant, p window.Policy) slot {
	b, c := l.bucket, l.line.class
	s := slot{key: -1, at: limit.Never, app: limit.Never, method: now}
	for _, id := range m.ring.candidates(c) {
		from, until := m.opens(b, id), b.endpoint.avoids(id)
		app := m.appNext(now, b, id, p)
		s.app = min(s.app, max(m.ring.from[id], app))
		if from > 0 { // suspect: its probe may come first
			from = max(from, app)
		}
		for _, t := range [...]limit.Instant{from, until} {
			if t > now {
				s.at = min(s.at, t)
			}
		}
	}
	if s.app > now {
		s.at = s.app
		return s
	}
	for _, id := range m.choice(now, b, c, p) {
		t := max(m.ring.from[id], m.appNext(now, b, id, p), m.methodNext(now, b, id, c, nil, service, p))
		if t <= now {
			return slot{key: id, at: now, app: now, method: now}
		}
		s.at = min(s.at, t)
	}
	return s
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

// usable reports whether calls of a class in bucket b have a key to wait for:
// one that takes all calls, or a suspect one that has not failed a probe there.
func (m *Machine) usable(b *bucket, c class) bool {
	if c.keyless {
		return true
	}
	for _, id := range m.ring.candidates(c) {
		switch m.ring.from[id] {
		case 0:
			return true
		case probesOnly:
			if !b.endpoint.failed(id) {
				return true
			}
		}
	}
	return false
}

// nextProbe returns when a call of a class in bucket b, whose keys are all
// suspect, can go as a probe; while one is under way, when it should be over.
// Disabled keys have none.
func (m *Machine) nextProbe(now limit.Instant, b *bucket, c class) limit.Instant {
	return m.earliestProbe(now, b, m.ring.candidates(c))
}

func (m *Machine) earliestProbe(now limit.Instant, b *bucket, ids []int) limit.Instant {
	at := limit.Never
	for _, id := range ids {
		if m.ring.keys[id].disabled {
			continue
		}
		from := m.opens(b, id)
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

// AddKey returns the id of a new key, of which nothing is known: that of a key
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

// Idle reports whether nothing counts on a key any longer, in any of its scopes,
// and there is nothing to tell a store of it.
func (m *Machine) Idle(now limit.Instant, id int) bool {
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
	return m.desk.idle(func(a accountID) bool { return a.key == id })
}

// forget drops the scopes of a key, unless anything counts on them still.
func (m *Machine) forget(now limit.Instant, id int) bool {
	if !m.Idle(now, id) {
		return false
	}
	for _, h := range m.hosts {
		if id < len(h.apps) {
			h.apps[id] = nil
		}
	}
	m.eachRecord(id, func(e *endpoint, _ *record) { e.drop(id) })
	for _, b := range m.buckets {
		if id < len(b.set.scopes) && !b.keyless {
			b.set.scopes[id] = nil
		}
	}
	if m.desk != nil {
		m.desk.forget(func(a accountID) bool { return a.key == id })
	}
	return true
}
