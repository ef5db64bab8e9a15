package sched

import (
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// State is what a machine looks like from outside, in no particular order.
type State struct {
	Margin   time.Duration // J, the largest of all hosts
	Burst    float64
	Queued   int
	InFlight int
	Draining bool
	Scopes   []ScopeState
	Queues   []QueueState
}

// ScopeState is one scope; Method is empty for the application's, Key -1 for
// that of keyless calls.
type ScopeState struct {
	Key          int
	Host, Method string
	// Service is what is left of a stop of the method for all keys.
	Service      time.Duration
	ServiceCause limit.Kind
	window.ScopeState
}

// QueueState is one lane in which calls wait.
type QueueState struct {
	Host, Method string
	High         bool
	Pin          int    // key, or -1
	Budget       uint16 // 0 = none
	Depth        int
	Oldest       time.Duration // how long the head has waited
	Explained    bool          // Why is told
	Why          Why           // of the head
}

// explained is how many queues are told why they wait: more of them nobody
// reads, and the lock is held meanwhile.
const explained = 512

// State describes the machine at now.
func (m *Machine) State(now limit.Instant) State {
	s := State{Burst: m.cfg.Burst, Queued: m.queued, InFlight: len(m.permits), Draining: m.draining}
	for _, h := range m.hosts {
		s.Margin = max(s.Margin, h.margin.J())
		s.Scopes = appendApps(s.Scopes, now, h)
	}
	for _, b := range m.buckets {
		s.Scopes = appendMethods(s.Scopes, now, b)
		for _, l := range b.lanes {
			if l.n > 0 {
				q := QueueState{
					Host: b.host.name, Method: b.method, High: l.line.class.high, Pin: int(l.line.class.pin), Budget: l.line.class.budget,
					Depth: l.n, Oldest: now.Sub(l.oldest()), Why: Why{Key: -1, Start: limit.Never},
				}
				if len(s.Queues) < explained {
					q.Explained, q.Why = true, m.why(now, l)
				}
				s.Queues = append(s.Queues, q)
			}
		}
	}
	return s
}

// ScopesOf is the part of State that the calls of one method on one host are
// charged on: the application's scope of each key, then the method's.
func (m *Machine) ScopesOf(now limit.Instant, host, method string, keyless bool) (list []ScopeState) {
	if h := m.hosts[host]; h != nil && !keyless {
		list = appendApps(list, now, h)
	}
	if b := m.buckets[bucketID{host, method, keyless}]; b != nil {
		list = appendMethods(list, now, b)
	}
	return list
}

func appendApps(list []ScopeState, now limit.Instant, h *host) []ScopeState {
	for key, app := range h.apps {
		if app != nil {
			list = append(list, ScopeState{Key: key, Host: h.name, ScopeState: app.State(now, h.margin.J())})
		}
	}
	return list
}

func appendMethods(list []ScopeState, now limit.Instant, b *bucket) []ScopeState {
	service, cause := b.service.Cooldown(now)
	for key, scope := range b.set.scopes {
		if scope == nil {
			continue
		}
		if b.keyless {
			key = -1
		}
		list = append(list, ScopeState{
			Key: key, Host: b.host.name, Method: b.method, Service: service, ServiceCause: cause, ScopeState: scope.State(now, b.host.margin.J()),
		})
	}
	return list
}

// Open is a permit that has not ended yet.
type Open struct {
	Host, Method string
	Key          int // its id; -1 for a keyless call
	Since        limit.Instant
	Sent         bool
}

// Permits lists those that have not ended yet, in no particular order.
func (m *Machine) Permits() []Open {
	list := make([]Open, len(m.permits))
	for i, p := range m.permits {
		_, sent := p.hold.IsSent()
		list[i] = Open{Host: p.bucket.host.name, Method: p.bucket.method, Key: p.Key, Since: p.since, Sent: sent}
	}
	return list
}
