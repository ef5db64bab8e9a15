package sched

import (
	"cmp"
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// Denial is one answer that speaks against a key.
type Denial struct {
	At     limit.Instant
	Status int
	Host   string
	API    string
}

// Verdict is what an answer says of the key that it was called with (R18).
type Verdict uint8

// The verdicts.
const (
	Unsaid   Verdict = iota // nothing: a gateway's page, trouble of Riot's
	Accepted                // the key is good
	Refused                 // Riot doesn't know the key, or doesn't let it do this
)

// How long an API on a host is left alone that refused a key: until it is tried
// again. The time doubles with each try that is refused.
const (
	firstProbe = time.Second
	lastProbe  = 5 * time.Minute
)

// probesOnly is from when a suspect key takes calls: at any time, but only a
// probe, for which each endpoint has a time of its own.
const probesOnly limit.Instant = 1

func rising(n int) time.Duration {
	if n > 20 {
		return lastProbe
	}
	return min(firstProbe<<max(0, n-1), lastProbe)
}

// Judge notes what the answer to a call says of its key; before Answer. It
// returns the place of another key that could serve the call, if its own can't,
// else -1.
func (m *Machine) Judge(now limit.Instant, p *Permit, v Verdict, status int) (other int) {
	if p.Key < 0 || v == Unsaid {
		return -1
	}
	b := p.bucket
	if v == Accepted {
		if k := &m.ring.keys[p.Key]; k.suspect || k.against != (evidence{}) || b.endpoint.keys != nil {
			m.accepted(now, p.Key, b)
		}
		return -1
	}
	m.deny(now, b, p.Key, p.probe, Denial{now, status, b.host.name, b.endpoint.api})
	return m.other(now, b, p.Key)
}

// Deny is Judge for a refusal that is found out when the call has ended already.
// It returns the place of another key that could serve the call, otherwise -1.
func (m *Machine) Deny(now limit.Instant, id int, host, method string, status int) (other int) {
	b := m.buckets[bucketID{host, method, false}]
	if b == nil {
		return -1
	}
	m.deny(now, b, id, m.ring.keys[id].suspect, Denial{now, status, host, b.endpoint.api})
	return m.other(now, b, id)
}

// deny notes a refusal. Of the key it says something only together with others,
// see evidence; alone, it is about the API on the host (R18).
func (m *Machine) deny(now limit.Instant, b *bucket, id int, probe bool, d Denial) {
	k, s := &m.ring.keys[id], b.endpoint.record(id)
	s.last = d
	if s.n == 0 || probe { // calls under way at the same time say the same thing once
		s.n++
		s.next = now.Add(rising(s.n))
	}
	switch {
	case k.suspect && probe:
		s.failed, m.expel = true, true
	case !k.suspect && !s.known && k.live && k.against.add(d):
		m.Suspect(now, id, d.Status)
	}
	m.recheckHost(now, b.host) // others may have to do what it was to
}

// suspend has a key take probes only: one a second later where Riot refused it,
// one at once elsewhere. What waits for the key goes on waiting for its probe.
func (m *Machine) suspend(now limit.Instant, id int) {
	m.ring.keys[id].suspect = true
	m.eachRecord(id, func(_ *endpoint, s *record) { s.restart(now) })
	m.ring.open(id)
	m.recheck(now)
}

// Suspect makes a key suspect that was so before a restart, for this answer.
func (m *Machine) Suspect(now limit.Instant, id, status int) {
	if k := &m.ring.keys[id]; !k.suspect {
		m.tell(Change{Kind: KeySuspended, At: now, Key: id, Status: status})
		m.suspend(now, id)
	}
}

// accepted notes a success in bucket b. Where Riot still refuses the key, that
// isn't about the key.
func (m *Machine) accepted(now limit.Instant, id int, b *bucket) {
	k := &m.ring.keys[id]
	if b.endpoint.keys[id] != nil {
		b.endpoint.drop(id)
		m.recheckHost(now, b.host)
	}
	if !k.suspect && k.against == (evidence{}) {
		return
	}
	k.against = evidence{}
	m.eachRecord(id, func(_ *endpoint, s *record) {
		if s.known = s.n > 0; k.suspect {
			s.restart(now)
		}
	})
	if k.suspect {
		k.suspect = false
		m.tell(Change{Kind: KeyReturned, At: now, Key: id})
		m.ring.open(id)
		m.recheck(now)
	}
}

// tries makes a call the one that tries its key, where that is due: then no
// other does until it has ended.
func (m *Machine) tries(now limit.Instant, p *Permit) {
	e, suspect := p.bucket.endpoint, m.ring.from[p.Key] != 0
	s := e.keys[p.Key]
	switch {
	case s == nil && !suspect, s != nil && s.next > now:
		return
	case s == nil:
		s = e.record(p.Key)
	}
	p.probe, s.next = true, limit.Never
	// Calls that wait for this key, or for a better one, may have another one now.
	if suspect {
		m.recheck(now)
	} else {
		m.recheckHost(now, p.bucket.host)
	}
}

// probed ends a try.
func (m *Machine) probed(now limit.Instant, p *Permit) {
	p.probe = false
	s := p.bucket.endpoint.keys[p.Key]
	if s == nil || s.next < limit.Never {
		return // it was answered
	}
	if s.next = now.Add(rising(s.n)); s.n == 0 && !m.ring.keys[p.Key].suspect {
		p.bucket.endpoint.drop(p.Key)
	}
	m.recheckHost(now, p.bucket.host)
}

// shuns returns until when bucket b avoids a key; 0 if it doesn't, or if there
// is no other to go on.
func (r *ring) shuns(now limit.Instant, b *bucket, id int, ids []int) limit.Instant {
	until := b.endpoint.avoids(id)
	if until <= now {
		return 0
	}
	for _, other := range ids {
		if other != id && r.from[other] == 0 && b.endpoint.avoids(other) <= now {
			return until
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
		if o == id || m.ring.from[o] != 0 || b.endpoint.avoids(o) > now {
			continue
		}
		if t := max(m.app(b.host, o).Next(now, p), m.method(b, o).Next(now, p)); best < 0 || t < first {
			best, first = o, t
		}
	}
	return slices.Index(m.ring.places, best)
}

// KeyHealth is how a key is.
type KeyHealth struct {
	Suspect bool
	Probe   limit.Instant // of a suspect key: when the next probe may go; Never while all are under way
	Reasons []Denial      // where Riot refuses it, the latest last

	Disabled bool          // by an operator: no calls at all
	Since    limit.Instant // of a disabled key
}

// Good reports whether a key takes ordinary calls.
func (h KeyHealth) Good() bool { return !h.Suspect && !h.Disabled }

// KeyHealth tells how the key with this id is.
func (m *Machine) KeyHealth(id int) KeyHealth {
	k := m.ring.keys[id]
	h := KeyHealth{Suspect: k.suspect, Disabled: k.disabled, Since: k.since}
	next, tried := limit.Never, false
	m.eachRecord(id, func(_ *endpoint, s *record) {
		if s.n > 0 {
			h.Reasons = append(h.Reasons, s.last)
		}
		next, tried = min(next, s.next), true
	})
	slices.SortFunc(h.Reasons, func(a, b Denial) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Host, b.Host), cmp.Compare(a.API, b.API))
	})
	if k.suspect && tried {
		h.Probe = next
	}
	return h
}
