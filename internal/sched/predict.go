package sched

import (
	"slices"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// Estimate predicts when the last of n calls could start that came now.
func (m *Machine) Estimate(now limit.Instant, r Request, n int) Refusal {
	if m.draining {
		return Refusal{Draining, limit.Never}
	}
	l := m.laneOf(r)
	if b, c := l.bucket, r.class(); !m.usable(b, c) {
		if at := m.nextProbe(now, b, c); at > now {
			return Refusal{NoKey, at}
		}
		return Refusal{None, now} // a probe
	}
	return Refusal{None, m.predict(now, l, r.Client, l.waiting(r.Client)+n)}
}

// laneOf returns the lane of a request; one of its own, unknown to the machine,
// if no call of its kind has come yet.
func (m *Machine) laneOf(r Request) *lane {
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
	return l
}

// predict estimates when a client's k-th call of lane l starts, from now on, if
// nothing else comes. Where several keys, methods or clients share a budget it
// takes their turns into account, but errs on the early side: a call that could
// be served in time must not be refused.
func (m *Machine) predict(now limit.Instant, l *lane, client string, k int) limit.Instant {
	b, c := l.bucket, l.line.class
	// Before its k-th call, each other client of the lane has k-1, if so many wait.
	own := k + l.upTo(k-1) - min(l.waiting(client), k-1)
	method, app := ahead{of: c, k: k, own: own}, ahead{of: c, k: k, own: own}
	alone := len(m.ring.places) <= 1
	if b.host.shared(client, c.high) {
		method.client, app.client = &client, &client
	}
	for _, other := range b.lanes {
		if other != l {
			method.add(other, method.turnsOf(other.line.class, alone))
		}
	}
	if !b.keyless {
		for _, q := range b.host.busy {
			t := app.turnsOf(q.class, alone)
			if t == notAhead {
				continue
			}
			for _, n := range q.ready {
				if n.lane != l {
					app.add(n.lane, t)
				}
			}
		}
	}
	return m.place(now, l, app.place(b.host.credit), method.place(b.credit))
}

// place estimates when a call of lane l starts that is in these places of all
// that wait for the application and for the method.
func (m *Machine) place(now limit.Instant, l *lane, inApp, inMethod place) limit.Instant {
	if m.closed() {
		return m.desk.reopens(now)
	}
	b, c := l.bucket, l.line.class
	p := m.policy(b.host, c, c.high)
	switch {
	case b.keyless:
		return inMethod.of(m.method(b, 0), now, b.service.Opens(now), 1, p)
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
	of  class
	k   int
	own int // its place in its lane
	// client, where not nil, is whose calls alone count, of those that take turns.
	// Others' are left out: how they take turns with it hangs on what they wait for.
	client *string
	equal  int // turn about: at most k of each lane
	same   int // of those, calls of the same budget
	high   int // all of them, when of isn't high itself; but see fairShare
}

// turns says how the calls of other lanes count.
type turns uint8

const (
	notAhead   turns = iota // they may not be in the way
	turnAbout               // at most k of each lane
	sameBudget              // turnAbout, of the same budget
	allTheirs               // all of them go first
)

// turnsOf tells how the calls of a class count. Calls that may use other keys don't
// count; alone says that there are no others. Nor do those that have a budget
// of their own to wait for.
func (a *ahead) turnsOf(c class, alone bool) turns {
	switch {
	case c.keyless != a.of.keyless || (c.pin != a.of.pin || c.group != a.of.group || c.first != a.of.first) && !alone || a.of.high && !c.high:
		return notAhead
	case c.budget != 0 && c.budget != a.of.budget:
		return notAhead
	case c.high && !a.of.high:
		return allTheirs
	case c.budget == a.of.budget:
		return sameBudget
	}
	return turnAbout
}

// add counts the calls that wait in another lane.
func (a *ahead) add(l *lane, t turns) {
	n := l.n
	if a.client != nil && t != allTheirs && t != notAhead {
		n = l.waiting(*a.client)
	}
	switch t {
	case allTheirs:
		a.high += n
	case sameBudget:
		a.same += min(n, a.k)
		a.equal += min(n, a.k)
	case turnAbout:
		a.equal += min(n, a.k)
	case notAhead:
	}
}

// place returns which of all calls the k-th is, with what high owes already.
func (a *ahead) place(credit int) place {
	n := a.own + a.equal
	return place{n + min(a.high, max(0, fairShare*n-credit)), a.own + a.same}
}

// place is which of the calls to come one is: of all, and of its own budget's.
type place struct{ all, budget int }

// of estimates when the call could go that has the place, in a scope that n
// keys share the calls of, none of which goes before from.
func (q place) of(s *window.Scope, now, from limit.Instant, n int, p window.Policy) limit.Instant {
	return s.Nth(now, from, (q.all+n-1)/n, (q.budget+n-1)/n, p)
}

func (m *Machine) nth(now limit.Instant, b *bucket, key int, inApp, inMethod place, p window.Policy) limit.Instant {
	app, method := m.app(b.host, key), m.method(b, key)
	from := max(b.service.Opens(now), app.Opens(now), method.Opens(now))
	return max(inApp.of(app, now, from, 1, p), inMethod.of(method, now, from, 1, p))
}

// nthOfAll is nth where the calls go to whichever key is first. One of n keys
// gets at least the n-th part of the calls: so none comes before the quickest
// with an n-th part. That holds for all keys, and where some of them don't
// take part at all, for the rest. Suspect keys don't.
func (m *Machine) nthOfAll(now limit.Instant, b *bucket, ids []int, inApp, inMethod place, p window.Policy) limit.Instant {
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
			if t := inApp.of(app, now, from, n, p); t < at {
				at = min(at, max(t, inMethod.of(method, now, from, n, p)))
			}
		}
		return at
	}
	const few = 4 // with more keys a few that are stopped make little difference
	if keys == 0 {
		return m.earliestProbe(now, b, ids)
	}
	all := quickest(keys)
	if keys == 1 || keys > few {
		return all
	}
	var buf [few]limit.Instant
	joins := buf[:0] // when each key could take part
	for _, id := range ids {
		if m.ring.from[id] == 0 {
			joins = append(joins, m.nth(now, b, id, place{1, 1}, place{1, 1}, p))
		}
	}
	slices.Sort(joins)
	best := max(all, joins[keys-1])
	for n := keys - 1; n > 0 && joins[n] > all; n-- { // without those that join later
		best = min(best, max(quickest(n), joins[n-1]))
	}
	return best
}
