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
	if m.noKey(r) {
		return Refusal{NoKey, limit.Never}
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
	p := m.policy(c.high)
	inMethod, inApp := k, k
	for _, other := range b.lanes {
		if other != l {
			inMethod += m.before(other, c, k)
		}
	}
	if !b.keyless {
		for _, q := range b.host.lines {
			for _, n := range q.ready {
				if n.lane != l {
					inApp += m.before(n.lane, c, k)
				}
			}
		}
	}
	at := max(now, b.service.Next(now))
	switch {
	case b.keyless:
		return max(at, m.method(b, 0).Nth(now, inMethod, p))
	case c.pin >= 0:
		return max(at, m.nth(now, b, int(c.pin), inApp, inMethod, p))
	}
	return max(at, m.nthOfAll(now, b, inApp, inMethod, p))
}

// before gives how many calls of another lane go before the k-th of one of
// class c: all of a higher priority, none of a lower, turn about among equals.
// Calls that may use other keys don't count, they may not be in the way.
func (m *Machine) before(other *lane, c class, k int) int {
	o := other.line.class
	switch {
	case o.keyless != c.keyless || o.pin != c.pin && m.cfg.Keys > 1 || c.high && !o.high:
		return 0
	case o.high && !c.high:
		return other.n
	}
	return min(other.n, k)
}

func (m *Machine) nth(now limit.Instant, b *bucket, key, inApp, inMethod int, p limit.Policy) limit.Instant {
	return max(m.app(b.host, key).Nth(now, inApp, p), m.method(b, key).Nth(now, inMethod, p))
}

// nthOfAll is nth where the calls go to whichever key is first. If only n keys
// take part, one of them gets at least the n-th part of the calls: so none
// comes before the quickest with an n-th part, nor before the first of the
// last of them to join. Of all n the earliest counts. With many keys only the
// part of all is looked at.
func (m *Machine) nthOfAll(now limit.Instant, b *bucket, inApp, inMethod int, p limit.Policy) limit.Instant {
	keys := m.cfg.Keys
	quickest := func(n int) limit.Instant {
		at := limit.Never
		for key := range keys {
			at = min(at, m.nth(now, b, key, (inApp+n-1)/n, (inMethod+n-1)/n, p))
		}
		return at
	}
	const few = 4
	if keys == 1 || keys > few {
		return quickest(keys)
	}
	var buf [few]limit.Instant
	joins := buf[:0]
	for key := range keys {
		joins = append(joins, m.nth(now, b, key, 1, 1, p))
	}
	slices.Sort(joins)
	best := limit.Never
	for n := 1; n <= keys; n++ {
		best = min(best, max(joins[n-1], quickest(n)))
	}
	return best
}
