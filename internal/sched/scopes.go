package sched

import (
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// bucket returns the bucket of a request, made if need be; nil when callers have
// named more than can be kept.
func (m *Machine) bucket(now limit.Instant, r Request) *bucket {
	id := bucketID{r.Host, r.Method, r.Keyless}
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
		h = m.newHost(r.Host)
		m.hosts[r.Host] = h
	}
	h.buckets++
	b := m.newBucket(h, r)
	h.endpoints[b.endpoint.api] = b.endpoint
	b.endpoint.buckets++
	b.set.buckets = append(b.set.buckets, b)
	if name := m.alias(r); name != "" {
		m.shared[name] = b.set
	}
	m.buckets[id] = b
	return b
}

// alias returns what Config.Alias calls the method, "" if it shares no limit.
func (m *Machine) alias(r Request) string {
	if m.cfg.Alias == nil {
		return ""
	}
	return m.cfg.Alias(r.Host, r.Method)
}

func (m *Machine) newHost(name string) *host {
	h := &host{name: name, ring: m.ring, apps: make([]*window.Scope, len(m.ring.keys)), margin: m.newMargin(0), endpoints: map[string]*endpoint{}}
	h.pos, h.node.host = -1, h
	return h
}

// newBucket makes a bucket that the machine doesn't know: a query needs one to
// ask about a method that was never called.
func (m *Machine) newBucket(h *host, r Request) *bucket {
	keys := len(m.ring.keys)
	if r.Keyless {
		keys = 1
	}
	b := &bucket{host: h, method: r.Method, keyless: r.Keyless, parts: 1, endpoint: h.endpoint(m.api(r.Method))}
	if m.cfg.Parts != nil {
		b.parts = max(1, m.cfg.Parts(r.Host, r.Method))
	}
	if b.set = m.shared[m.alias(r)]; b.set == nil {
		b.set = &scopeSet{scopes: make([]*window.Scope, keys)}
	}
	return b
}

// scopeSet is the scopes of a method, by key; R8: buckets of several hosts can
// have the same.
type scopeSet struct {
	scopes  []*window.Scope // made when first used; one for keyless calls
	buckets []*bucket       // that have it
}

// sweep forgets the buckets in which nothing counts any longer, at most once a
// second, and reports whether there is room for another one.
func (m *Machine) sweep(now limit.Instant) bool {
	if now >= m.swept.Add(time.Second) {
		m.swept = now
		for id, b := range m.buckets {
			if len(b.set.buckets) > 1 || b.queued > 0 || !m.idle(now, b.host, b.set.scopes) || b.service.Next(now) > now {
				continue
			}
			if b.host.buckets == 1 && !m.idle(now, b.host, b.host.apps) {
				continue // the application's charges outlive its methods'
			}
			itsHost := func(a accountID) bool { return a.host == b.host }
			if b.host.buckets == 1 && !m.desk.idle(itsHost) {
				continue
			}
			delete(m.buckets, id)
			if b.endpoint.buckets--; b.endpoint.buckets == 0 {
				delete(b.host.endpoints, b.endpoint.api)
			}
			if b.host.buckets--; b.host.buckets == 0 {
				delete(m.hosts, b.host.name)
				m.desk.forget(itsHost)
			}
		}
	}
	return len(m.buckets) < maxBuckets && len(m.hosts) < maxHosts
}

func (m *Machine) idle(now limit.Instant, h *host, scopes []*window.Scope) bool {
	for _, s := range scopes {
		if s != nil && !s.Idle(now, h.margin.J()) {
			return false
		}
	}
	return true
}

// app returns the application's scope of a key on a host, to ask it.
func (m *Machine) app(h *host, key int) *window.Scope {
	if s := at(h.apps, key); s != nil {
		return s
	}
	return m.unusedApp
}

// method returns the scope of a method for a key, to ask it.
func (m *Machine) method(b *bucket, key int) *window.Scope {
	if s := at(b.set.scopes, key); s != nil {
		return s
	}
	return m.unusedMethod
}

// use returns what a call on a key is charged on, made if need be; app is nil
// for a keyless one.
func (m *Machine) use(b *bucket, key int) (app, method *window.Scope) {
	if key < 0 {
		key = 0
	} else if app = at(b.host.apps, key); app == nil {
		app = m.furnish(m.newScope(m.cfg.Assumed, false), b.host.name, "")
		put(&b.host.apps, key, app)
	}
	if method = at(b.set.scopes, key); method == nil {
		method = m.furnish(m.newScope(nil, true), b.host.name, b.method)
		put(&b.set.scopes, key, method)
	}
	return app, method
}

// newScope makes the scope of an application, or of a method.
func (m *Machine) newScope(assumed []limit.Quota, method bool) *window.Scope {
	s := window.NewScope(m.cfg.Start, assumed)
	s.Tolerate(m.cfg.Tolerance)
	m.share(s, method)
	return s
}

// share has a new scope judged by the store, if there is one.
func (m *Machine) share(s *window.Scope, method bool) {
	if m.desk == nil {
		return
	}
	if s.Lease(method, m.cfg.Phase); m.desk.alone {
		s.GoAlone(0, m.desk.replicas, m.cfg.Margin)
	}
}

// at returns the scope of a key, nil while there is none.
func at(scopes []*window.Scope, id int) *window.Scope {
	if id < len(scopes) {
		return scopes[id]
	}
	return nil
}

// put sets the scope of a key, which may be newer than the list.
func put(scopes *[]*window.Scope, id int, s *window.Scope) {
	for id >= len(*scopes) {
		*scopes = append(*scopes, nil)
	}
	(*scopes)[id] = s
}
