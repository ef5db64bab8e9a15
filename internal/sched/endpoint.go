package sched

import (
	"time"

	"riftrelay/internal/limit"
)

// endpoint is one API on one host. Riot refuses keys by endpoint: a key may not use
// an API, or a host has an outage that shows as 403 (R18).
type endpoint struct {
	host, api string
	buckets   int             // methods of the API on the host
	keys      map[int]*record // the keys that were refused here, or are being tried; nil if there are none
}

// record is how a key fares at an endpoint.
type record struct {
	n      int           // refusals in a row, one for each try; 0 while a suspect key is tried here for the first time
	next   limit.Instant // when a call may try the key here again; Never while one does
	failed bool          // a probe was refused here since the key became suspect
	known  bool          // the key had a success elsewhere since: the refusals are about the endpoint
	last   Denial        // if n > 0
}

// endpoint returns the host's endpoint of an API.
func (h *host) endpoint(api string) *endpoint {
	if e := h.endpoints[api]; e != nil {
		return e
	}
	return &endpoint{host: h.name, api: api}
}

// api returns the API of a method.
func (m *Machine) api(method string) string {
	if m.cfg.API == nil {
		return method
	}
	return m.cfg.API(method)
}

// record returns that of a key, made if need be.
func (e *endpoint) record(id int) *record {
	s := e.keys[id]
	if s == nil {
		if e.keys == nil {
			e.keys = map[int]*record{}
		}
		s = new(record)
		e.keys[id] = s
	}
	return s
}

// restart has the key tried again soon: what is known of it has changed.
func (s *record) restart(now limit.Instant) {
	if s.n, s.failed = min(s.n, 1), false; s.next < limit.Never {
		s.next = min(s.next, now.Add(firstProbe))
	}
}

func (e *endpoint) drop(id int) {
	if delete(e.keys, id); len(e.keys) == 0 {
		e.keys = nil
	}
}

// next returns when a suspect key may be tried at the endpoint.
func (e *endpoint) next(id int) limit.Instant {
	if s := e.keys[id]; s != nil {
		return s.next
	}
	return 0
}

// avoids returns until when calls go on another key if they can.
func (e *endpoint) avoids(id int) limit.Instant {
	if s := e.keys[id]; s != nil && s.n > 0 {
		return s.next
	}
	return 0
}

func (e *endpoint) failed(id int) bool {
	s := e.keys[id]
	return s != nil && s.failed
}

// opens returns from when a key takes a call of bucket b: 0 always, Never not
// before something happens. While the key is suspect, that call is a probe.
func (m *Machine) opens(b *bucket, id int) limit.Instant {
	from := m.ring.from[id]
	if from == probesOnly {
		return max(from, b.endpoint.next(id))
	}
	return from
}

func (m *Machine) eachRecord(id int, f func(*endpoint, *record)) {
	for _, h := range m.hosts {
		for _, e := range h.endpoints {
			if s := e.keys[id]; s != nil {
				f(e, s)
			}
		}
	}
}

// evidence is what the refusals since a key's last success have in common.
// Refusals by one host may be the host's trouble, and those of one API may mean
// that the key may not use it. Only refusals of several hosts and several APIs
// speak against the key.
type evidence struct {
	host, api   string // of the first
	hosts, apis bool   // there are others too
}

// add notes a refusal, and reports whether the key must be at fault.
func (e *evidence) add(d Denial) bool {
	if *e == (evidence{}) {
		e.host, e.api = d.Host, d.API
	}
	e.hosts, e.apis = e.hosts || d.Host != e.host, e.apis || d.API != e.api
	return e.hosts && e.apis
}

// addRefusals saves which APIs of a host refuse keys.
func (v *Saved) addRefusals(now limit.Instant, h *host) {
	for _, e := range h.endpoints {
		for key, s := range e.keys {
			left := s.next.Sub(now)
			if s.next == limit.Never {
				left = 0 // it is being tried
			}
			if s.n > 0 && left > -lastRefusal {
				v.Refusals = append(v.Refusals, SavedRefusal{key, e.host, e.api, s.last.Status, now.Sub(s.last.At), left, min(s.n, mostRefusals)})
			}
		}
	}
}

// Bounds of what is taken from a file.
const (
	mostRefusals = 32        // beyond where the time to the next try rises
	lastRefusal  = time.Hour // older ones are forgotten
)

func (s SavedRefusal) valid() bool {
	return s.Host != "" && len(s.Host) <= maxName && len(s.API) <= maxName && s.Status >= 0 && s.Status < 1000 && s.Age >= 0 &&
		s.Left <= lastRefusal && s.Left >= -lastRefusal && s.N >= 1 && s.N <= mostRefusals
}

// restoreRefusal has a key avoid an API for what is left of that. When it has
// been due for too long, it is forgotten.
func (m *Machine) restoreRefusal(now limit.Instant, s SavedRefusal, elapsed time.Duration) {
	left := s.Left - elapsed
	if s.Key < 0 || s.Key >= len(m.ring.keys) || s.API == "" || left < -lastRefusal {
		return
	}
	h := m.hosts[s.Host]
	if h == nil {
		if len(m.hosts) >= maxHosts {
			return
		}
		h = m.newHost(s.Host)
		m.hosts[s.Host] = h
	}
	e := h.endpoint(s.API)
	h.endpoints[s.API] = e
	at := now.Add(-min(s.Age, longAgo) - min(elapsed, longAgo))
	*e.record(s.Key) = record{n: s.N, next: now.Add(left), known: !m.ring.keys[s.Key].suspect, last: Denial{at, s.Status, s.Host, s.API}}
}

// longAgo keeps times in bounds: what is older is as good as that old.
const longAgo = 365 * 24 * time.Hour
