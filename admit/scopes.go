package admit

import (
	"time"

	"riftrelay/limit"
)

// bucket gives the bucket of a request, made if need be; nil when callers have
// named more than can be kept.
func (m *Machine) bucket(now limit.Instant, r Request) *bucket {
	id := bucketID{r.Host, r.Method}
	if b := m.buckets[id]; b != nil {
		return b
	}
	h := m.hosts[r.Host]
	if len(m.buckets) >= maxBuckets || h == nil && len(m.hosts) >= maxHosts {
		if !m.sweep(now) {
			return nil
		}
		h = m.hosts[r.Host] // may have been swept
	}
	if h == nil {
		h = &host{name: r.Host, apps: make([]*limit.Scope, m.cfg.Keys)}
		h.pos, h.node.host = -1, h
		m.hosts[r.Host] = h
	}
	h.buckets++
	b := &bucket{host: h, method: r.Method, keyless: r.Keyless}
	if r.Keyless {
		b.scopes = make([]*limit.Scope, 1)
	} else {
		b.scopes = make([]*limit.Scope, m.cfg.Keys)
	}
	m.buckets[id] = b
	return b
}

// sweep forgets the buckets in which nothing counts any more, at most once a
// second, and reports whether there is room for another one.
func (m *Machine) sweep(now limit.Instant) bool {
	if now >= m.swept.Add(time.Second) {
		m.swept = now
		used := make(map[*bucket]bool, len(m.permits))
		for _, p := range m.permits {
			used[p.bucket] = true
		}
		for id, b := range m.buckets {
			if b.queued > 0 || used[b] || !m.idle(now, b.scopes) || b.service.Next(now) > now {
				continue
			}
			if b.host.buckets == 1 && !m.idle(now, b.host.apps) {
				continue // the application's charges outlive its methods'
			}
			delete(m.buckets, id)
			if b.host.buckets--; b.host.buckets == 0 {
				delete(m.hosts, b.host.name)
			}
		}
	}
	return len(m.buckets) < maxBuckets && len(m.hosts) < maxHosts
}

func (m *Machine) idle(now limit.Instant, scopes []*limit.Scope) bool {
	for _, s := range scopes {
		if s != nil && !s.Idle(now, m.cfg.Margin) {
			return false
		}
	}
	return true
}

// app gives the application's scope of a key on a host.
func (m *Machine) app(h *host, key int) *limit.Scope {
	s := h.apps[key]
	if s == nil {
		s = limit.NewScope(m.cfg.Start, m.cfg.Assumed)
		h.apps[key] = s
	}
	return s
}

// method gives the scope of a method for a key.
func (m *Machine) method(b *bucket, key int) *limit.Scope {
	s := b.scopes[key]
	if s == nil {
		s = limit.NewScope(m.cfg.Start, nil)
		b.scopes[key] = s
	}
	return s
}

// scopes gives what a call on a key is charged on; app is nil for a keyless
// one.
func (m *Machine) scopes(b *bucket, key int) (app, method *limit.Scope) {
	if key < 0 {
		return nil, m.method(b, 0)
	}
	return m.app(b.host, key), m.method(b, key)
}
