package admit

import (
	"slices"
	"time"

	"riftrelay/limit"
)

// Estimate predicts when a call could start that came now.
func (m *Machine) Estimate(now limit.Instant, r Request) Refusal {
	if m.draining {
		return Refusal{Draining, limit.Never}
	}
	if !r.Keyless && (m.cfg.Keys == 0 || r.Pin >= m.cfg.Keys) {
		return Refusal{NoKey, limit.Never}
	}
	b := m.bucket(now, r)
	if b == nil {
		return Refusal{QueueFull, now.Add(time.Second)}
	}
	c := class{high: r.High, keyless: r.Keyless, pin: int32(r.Pin)}
	if r.Keyless {
		c.pin = -1
	}
	l := b.lane(c)
	return Refusal{None, m.predict(now, l, l.n+1)}
}

// predict estimates when the k-th call of lane l starts, from now on, if
// nothing else comes. It is exact for one key and one method; where several
// share, it takes their turns into account but not their methods' own limits.
func (m *Machine) predict(now limit.Instant, l *lane, k int) limit.Instant {
	b, c := l.bucket, l.line.class
	p := m.policy(c.high)
	inMethod, inApp := k, k
	for _, other := range b.lanes {
		if other != l && other.line.class.high && !c.high {
			inMethod += other.n
		}
	}
	for _, q := range b.host.lines {
		if q.class.keyless != c.keyless || c.high && !q.class.high {
			continue
		}
		first := q.class.high && !c.high
		for _, n := range q.ready {
			switch {
			case n.lane == l:
			case first:
				inApp += n.lane.n
			default:
				inApp += min(n.lane.n, k) // turn about
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

func (m *Machine) nth(now limit.Instant, b *bucket, key, inApp, inMethod int, p limit.Policy) limit.Instant {
	return max(m.app(b.host, key).Nth(now, inApp, p), m.method(b, key).Nth(now, inMethod, p))
}

// nthOfAll is nth where the calls go to whichever key is first: the best of
// sharing them evenly among the best one, two … keys. With many keys only the
// even share of all is tried.
func (m *Machine) nthOfAll(now limit.Instant, b *bucket, inApp, inMethod int, p limit.Policy) limit.Instant {
	keys := m.cfg.Keys
	share := func(k, n int) int { return (k + n - 1) / n }
	if keys == 1 {
		return m.nth(now, b, 0, inApp, inMethod, p)
	}
	const few = 4
	var buf [few]limit.Instant
	best := limit.Never
	for n := 1; n <= keys; n++ {
		if keys > few && n < keys {
			continue
		}
		times := buf[:0]
		for key := range keys {
			t := m.nth(now, b, key, share(inApp, n), share(inMethod, n), p)
			if keys > few {
				best = min(best, t)
			} else {
				times = append(times, t)
			}
		}
		if keys <= few {
			slices.Sort(times)
			best = min(best, times[n-1])
		}
	}
	return best
}
