package admit

import (
	"slices"

	"riftrelay/limit"
)

// Estimate predicts when a call could start that came now.
func (m *Machine) Estimate(now limit.Instant, r Request) Refusal {
	if m.draining {
		return Refusal{Draining, limit.Never}
	}
	if c := r.class(); !m.ring.usable(c) {
		if at := m.ring.next(now, c); at > now {
			return Refusal{NoKey, at}
		}
		return Refusal{None, now} // a probe
	}
	b := m.buckets[bucketID{r.Host, r.Method, r.Keyless}]
	if b == nil {
		h := m.hosts[r.Host]
		if h == nil {
			h = m.newHost(r.Host)
		}
		b = m.newBucket(h, r)
	}
	l := b.find(r.class())
	if l == nil {
		l = &lane{bucket: b, line: &line{class: r.class()}}
	}
	return Refusal{None, m.predict(now, l, l.n+1)}
}

// predict estimates when the k-th call of lane l starts, from now on, if
// nothing else comes. Where several keys or methods share a budget it takes
// their turns into account, but errs on the early side: a call that could be
// served in time must not be refused.
func (m *Machine) predict(now limit.Instant, l *lane, k int) limit.Instant {
	b, c := l.bucket, l.line.class
	method, app := ahead{of: c, k: k}, ahead{of: c, k: k}
	alone := len(m.ring.places) <= 1
	for _, other := range b.lanes {
		if other != l {
			method.add(other, alone)
		}
	}
	if !b.keyless {
		for _, q := range b.host.busy {
			for _, n := range q.ready {
				if n.lane != l {
					app.add(n.lane, alone)
				}
			}
		}
	}
	return m.place(now, l, app.place(b.host.credit), method.place(b.credit))
}

// place estimates when a call of lane l starts that is in these places of all
// that wait for the application and for the method.
func (m *Machine) place(now limit.Instant, l *lane, inApp, inMethod int) limit.Instant {
	b, c := l.bucket, l.line.class
	p := m.policy(b.host, c.high)
	switch {
	case b.keyless:
		return m.method(b, 0).Nth(now, b.service.Opens(now), inMethod, p)
	case c.pin >= 0:
		if int(c.pin) >= len(m.ring.places) {
			return limit.Never
		}
		return m.nth(now, b, m.ring.places[c.pin], inApp, inMethod, p)
	}
	return m.nthOfAll(now, b, m.choice(now, b, c, p), inApp, inMethod, p)
}

// ahead counts the calls of other lanes that go before the k-th of a lane of
// class of.
type ahead struct {
	of    class
	k     int
	equal int // turn about: at most k of each lane
	high  int // all of them, when of isn't high itself; but see fairShare
}

// add counts what waits in another lane. Calls that may use other keys don't
// count, they may not be in the way; alone says that there are no others.
func (a *ahead) add(other *lane, alone bool) {
	c := other.line.class
	switch {
	case c.keyless != a.of.keyless || (c.pin != a.of.pin || c.group != a.of.group || c.first != a.of.first) && !alone || a.of.high && !c.high:
	case c.high && !a.of.high:
		a.high += other.n
	default:
		a.equal += min(other.n, a.k)
	}
}

// place gives which of all calls the k-th is, with what high owes already.
func (a *ahead) place(credit int) int {
	n := a.k + a.equal
	return n + min(a.high, max(0, fairShare*n-credit))
}

func (m *Machine) nth(now limit.Instant, b *bucket, key, inApp, inMethod int, p limit.Policy) limit.Instant {
	app, method := m.app(b.host, key), m.method(b, key)
	from := max(b.service.Opens(now), app.Opens(now), method.Opens(now))
	return max(app.Nth(now, from, inApp, p), method.Nth(now, from, inMethod, p))
}

// nthOfAll is nth where the calls go to whichever key is first. One of n keys
// gets at least the n-th part of the calls: so none comes before the quickest
// with an n-th part. That holds for all keys, and where some of them don't
// take part at all, for the rest. Suspect keys don't.
func (m *Machine) nthOfAll(now limit.Instant, b *bucket, ids []int, inApp, inMethod int, p limit.Policy) limit.Instant {
	keys := 0
	for _, id := range ids {
		if m.ring.from[id] == 0 {
			keys++
		}
	}
	quickest := func(n int) limit.Instant {
		at := limit.Never
		for _, id := range ids {
			if m.ring.from[id] != 0 {
				continue
			}
			app, method := m.app(b.host, id), m.method(b, id)
			from := max(b.service.Opens(now), app.Opens(now), method.Opens(now))
			if t := app.Nth(now, from, (inApp+n-1)/n, p); t < at {
				at = min(at, max(t, method.Nth(now, from, (inMethod+n-1)/n, p)))
			}
		}
		return at
	}
	const few = 4 // with more keys a few that are stopped make little difference
	if keys == 0 {
		return limit.Never
	}
	all := quickest(keys)
	if keys == 1 || keys > few {
		return all
	}
	var buf [few]limit.Instant
	joins := buf[:0] // when each key could take part
	for _, id := range ids {
		if m.ring.from[id] == 0 {
			joins = append(joins, m.nth(now, b, id, 1, 1, p))
		}
	}
	slices.Sort(joins)
	best := max(all, joins[keys-1])
	for n := keys - 1; n > 0 && joins[n] > all; n-- { // without those that join later
		best = min(best, max(quickest(n), joins[n-1]))
	}
	return best
}
