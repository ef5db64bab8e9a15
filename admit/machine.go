package admit

import (
	"time"

	"riftrelay/limit"
)

// Config is what a Machine is made for. Nothing in it has a default.
type Config struct {
	Keys          int           // number of keys
	Burst         float64       // share of each window that needs no pacing, 0 to 1
	Margin        time.Duration // J
	Assumed       []limit.Quota // of an application, before Riot's first headers
	QueueCapacity int           // calls waiting for one host and method
	QueueTotal    int           // calls waiting in all
	// Start is before when no scope's first call goes: J after the process
	// began, so that calls of a dead process that are still under way are
	// counted before that call's answer.
	Start limit.Instant
}

// Bounds on what callers can name. Riot has 28 hosts and 82 methods.
const (
	maxHosts   = 1024
	maxBuckets = 1 << 16
)

// Machine is the state of admission. Make it with New.
type Machine struct {
	cfg      Config
	hosts    map[string]*host
	buckets  map[bucketID]*bucket
	wakes    heap // hosts with waiters, by when they can go on
	queued   int
	turn     int64 // grants from queues ever: lanes note it
	permits  []*Permit
	spare    []*Permit
	draining bool
	swept    limit.Instant
}

type bucketID struct{ host, method string }

// New makes a machine in which nothing has happened yet.
func New(cfg Config) *Machine {
	return &Machine{cfg: cfg, hosts: map[string]*host{}, buckets: map[bucketID]*bucket{}, swept: -limit.Never}
}

// Request is a call that wants to be admitted.
type Request struct {
	Host, Method string
	Keyless      bool          // carries no key: method's scope only (R5)
	High         bool          // priority
	Pin          int           // key to wait for, or -1
	Deadline     limit.Instant // latest start; at or before now: now or never
	Front        bool          // back after a 429: first in its lane, beyond the bounds of the queues
}

// Reason says why a call was refused.
type Reason uint8

// The reasons.
const (
	None      Reason = iota
	QueueFull        // as many calls wait as may
	Deadline         // it could not start in time
	NoKey            // there is no key for it
	Draining         // the machine takes no more calls
)

// Refusal says why a call was refused and when, by all that is known, it could
// have started.
type Refusal struct {
	Reason Reason
	Start  limit.Instant
}

// Permit lets one call go to Riot: with which key, and what it holds until its
// answer. It ends with Answer or Release.
type Permit struct {
	Key int    // -1 for a keyless call
	Gen uint32 // the shell's own: counts the uses of this Permit

	hold   limit.Hold
	bucket *bucket
	index  int // in Machine.permits
}

// Enqueue admits a call at once if it can go, else lets w wait for it: exactly
// one of permit, refusal and waiting is the result. Others may have been let go
// first; Poll next.
func (m *Machine) Enqueue(now limit.Instant, w *Waiter, r Request) (*Permit, Refusal) {
	if m.draining && !r.Front {
		return nil, Refusal{Draining, limit.Never}
	}
	if !r.Keyless && (m.cfg.Keys == 0 || r.Pin >= m.cfg.Keys) {
		return nil, Refusal{NoKey, limit.Never}
	}
	b := m.bucket(now, r)
	if b == nil {
		return nil, Refusal{QueueFull, now.Add(time.Second)}
	}
	c := class{high: r.High, keyless: r.Keyless, pin: int32(r.Pin)}
	if r.Keyless {
		c.pin = -1
	}
	l := b.lane(c)
	if p := m.straight(now, l); p != nil {
		return p, Refusal{}
	}
	if r.Deadline > now && !r.Front && (b.queued >= m.cfg.QueueCapacity || m.queued >= m.cfg.QueueTotal) {
		return nil, Refusal{QueueFull, m.predict(now, l, 1)}
	}
	m.join(now, l, w, r)
	if start := m.predict(now, l, l.n); start > r.Deadline {
		m.leave(l, w)
		return nil, Refusal{Deadline, start}
	}
	return nil, Refusal{}
}

// straight admits a call of lane l that needn't queue: nobody waits that could
// go instead.
func (m *Machine) straight(now limit.Instant, l *lane) *Permit {
	h := l.bucket.host
	if l.n > 0 || len(l.line.ready) > 0 || h.pos >= 0 && limit.Instant(h.key) <= now {
		return nil
	}
	key, at, _ := m.find(now, l, m.policy(l.line.class.high))
	if at > now {
		return nil
	}
	return m.admit(now, l, key, m.policy(l.line.class.high))
}

func (m *Machine) join(now limit.Instant, l *lane, w *Waiter, r Request) {
	w.since, w.deadline = now, r.Deadline
	h := l.bucket.host
	if l.n == 0 {
		l.line.add(l)
	}
	if r.Front {
		l.pushFront(w)
	} else {
		l.pushBack(w)
	}
	l.bucket.queued++
	m.queued++
	h.waiting[index(l.line.class.high)]++
	m.wake(h, min(h.wakeAt(), limit.Never-1))
}

// leave takes a call out of its lane.
func (m *Machine) leave(l *lane, w *Waiter) {
	h := l.bucket.host
	if l.n == 1 {
		l.line.drop(l)
	}
	l.remove(w)
	l.bucket.queued--
	m.queued--
	h.waiting[index(l.line.class.high)]--
	if h.empty() {
		m.wakes.remove(&h.node)
		h.credit = 0
	}
}

// wake sets when a host is to be looked at.
func (m *Machine) wake(h *host, at limit.Instant) {
	if h.pos < 0 {
		m.wakes.push(&h.node, int64(at))
	} else {
		m.wakes.fix(&h.node, int64(at))
	}
}

// Cancel takes a call out of its queue. It reports false when the call isn't
// in one: it has been let go.
func (m *Machine) Cancel(w *Waiter) bool {
	if w.lane == nil {
		return false
	}
	m.leave(w.lane, w)
	return true
}

// NextWake gives when Poll can next let a call go, Never when only an event
// can bring that about.
func (m *Machine) NextWake() limit.Instant { return m.wakes.top() }

// Poll lets every call go that can go at now.
func (m *Machine) Poll(now limit.Instant, granted func(*Waiter, *Permit)) {
	for m.wakes.top() <= now {
		h := m.wakes[0].host
		for !h.empty() {
			w, p := m.next(now, h)
			if w == nil {
				break
			}
			granted(w, p)
		}
		if !h.empty() {
			m.wake(h, max(h.wakeAt(), now+1))
		}
	}
}

// next lets the next call of a host go; nil when none can.
func (m *Machine) next(now limit.Instant, h *host) (*Waiter, *Permit) {
	for _, q := range h.lines {
		q.wakeUp(now)
	}
	if h.credit >= fairShare && h.waiting[0] > 0 {
		if w, p := m.owed(now, h); w != nil {
			return w, p
		}
	}
	for _, high := range [...]bool{true, false} {
		if h.waiting[index(high)] == 0 {
			continue
		}
		if w, p := m.serve(now, h, high); w != nil {
			return w, p
		}
	}
	return nil, nil
}

// owed serves normal's twentieth turn, which skips pacing: else normal would
// never find a slot that high has not taken.
func (m *Machine) owed(now limit.Instant, h *host) (*Waiter, *Permit) {
	policy := m.policy(true)
	for _, q := range h.lines {
		for !q.class.high && len(q.ready) > 0 {
			l := q.ready[0].lane
			key, at, appAt := m.find(now, l, policy)
			if at <= now {
				return m.grant(now, l, key, policy)
			}
			if appAt > now {
				break
			}
			q.park(l, at)
		}
	}
	return nil, nil
}

// serve lets a call of the given priority go.
func (m *Machine) serve(now limit.Instant, h *host, high bool) (*Waiter, *Permit) {
	policy := m.policy(high)
	for {
		l := h.longestUnserved(now, high)
		if l == nil {
			return nil, nil
		}
		key, at, appAt := m.find(now, l, policy)
		switch {
		case at <= now:
			// The method's own budget has its twentieth turn as well.
			if b := l.bucket; high && b.credit >= fairShare {
				if other := b.waiting(false, key); other != nil && other.line.class.keyless == l.line.class.keyless {
					l = other
				}
			}
			return m.grant(now, l, key, policy)
		case appAt > now:
			l.line.blocked = appAt
		default:
			l.line.park(l, at)
		}
	}
}

// grant lets the head of lane l go.
func (m *Machine) grant(now limit.Instant, l *lane, key int, p limit.Policy) (*Waiter, *Permit) {
	w, b, high := l.head, l.bucket, l.line.class.high
	if l.parked {
		l.line.unpark(l)
	}
	m.turn++
	l.served = m.turn
	m.leave(l, w)
	if l.n > 0 {
		l.line.ready.fix(&l.node, l.served)
	}
	pay(&b.host.credit, high, b.host.waiting[0] > 0 || !high)
	pay(&b.credit, high, b.waiting(false, key) != nil || !high)
	return w, m.admit(now, l, key, p)
}

// admit charges for a call of lane l on a key.
func (m *Machine) admit(now limit.Instant, l *lane, key int, policy limit.Policy) *Permit {
	var p *Permit
	if n := len(m.spare); n > 0 {
		p, m.spare = m.spare[n-1], m.spare[:n-1]
	} else {
		p = new(Permit)
	}
	p.Key, p.bucket, p.index = key, l.bucket, len(m.permits)
	m.permits = append(m.permits, p)
	app, method := m.scopes(l.bucket, key)
	p.hold.Take(now, policy, &l.bucket.service, app, method)
	if key >= 0 {
		l.bucket.host.turn = (key + 1) % m.cfg.Keys
	}
	return p
}

// find gives the key on which a call of lane l can go earliest, and when: now
// if at once. appAt is when the first of the application's budgets that come
// into question has room, whatever the method's.
func (m *Machine) find(now limit.Instant, l *lane, p limit.Policy) (key int, at, appAt limit.Instant) {
	b := l.bucket
	service := b.service.Next(now)
	if b.keyless {
		return -1, max(service, m.method(b, 0).Next(now, p)), now
	}
	if pin := int(l.line.class.pin); pin >= 0 {
		appAt = m.app(b.host, pin).Next(now, p)
		return pin, max(service, appAt, m.method(b, pin).Next(now, p)), appAt
	}
	key, at, appAt = -1, limit.Never, limit.Never
	k := b.host.turn
	for range m.cfg.Keys {
		app := m.app(b.host, k).Next(now, p)
		one := max(service, app, m.method(b, k).Next(now, p))
		appAt = min(appAt, app)
		if key < 0 || one < at {
			key, at = k, one
		}
		if at <= now {
			break
		}
		if k++; k == m.cfg.Keys {
			k = 0
		}
	}
	return key, at, appAt
}

func (m *Machine) policy(unpaced bool) limit.Policy {
	return limit.Policy{Burst: m.cfg.Burst, Unpaced: unpaced, Margin: m.cfg.Margin}
}
