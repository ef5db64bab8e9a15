package sched

import (
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// Config is what a Machine is made for. Nothing in it has a default.
type Config struct {
	Keys          int           // number of keys, all of one group; SetKeys changes them
	Burst         float64       // share of each window that needs no pacing, 0 to 1
	Margin        time.Duration // J, and the least that it becomes
	MaxMargin     time.Duration // the most that it becomes; 0 = it stays as it is
	Assumed       []limit.Quota // of an application, before Riot's first headers
	Tolerance     int           // 429s of our own making a minute, in one scope, before it halves its limits
	QueueCapacity int           // calls waiting for one host and method, of one client, budget and priority
	// Alias names the budget that a method on a host shares with others (R8);
	// empty if it has one of its own. Nil is none.
	Alias func(host, method string) string
	// Parts returns into how many equal parts the limit of a method on a host is
	// divided, since as many hosts share it. Nil is one part.
	Parts      func(host, method string) int
	QueueTotal int // calls waiting in all
	// API names the API that a method belongs to, "match-v5" for one of its
	// paths. Nil: each method is an API of its own.
	API func(method string) string
	// Shares returns, for the application's scope on a host (method is empty) or
	// a method's, the share of every window that each budget may use, that of
	// budget 1 first. Of a scope that several hosts share (R8), the first one's
	// count. Nil: there are no budgets.
	Shares func(host, method string) []window.Share
	// Start is before when no scope's first call goes: J after the process
	// began, so that calls of a dead process that are still under way are
	// counted before that call's answer.
	Start limit.Instant
	// Watch has changes kept for Machine.Changes.
	Watch bool
	// Shared says that a store judges, which calls are asked of: see Ask.
	Shared bool
	// Phase, from 0 to 1, is another for each replica: where a share is less than
	// one call, they don't all have theirs at once.
	Phase float64
}

// Bounds on what callers can name. Riot has 28 hosts and 82 methods.
const (
	maxHosts   = 1024
	maxBuckets = 1 << 16
)

// Machine is the state of admission. Make it with New.
type Machine struct {
	cfg      Config
	ring     *ring
	expel    bool      // keys have become suspect or are no more: for Expel
	tighter  []*bucket // whose limits have become tighter: for Expel
	hosts    map[string]*host
	buckets  map[bucketID]*bucket
	wakes    heap // hosts with waiters, by when they can go on
	queued   int
	clients  map[string]*client // by name: those with calls that wait
	crowd    heap               // of clients, those with most calls first
	pushed   []pushed           // for Expel
	turn     int64              // goes up by turn with each grant: lanes note it
	permits  []*Permit
	spare    []*Permit
	draining bool
	until    limit.Instant // while draining: nothing starts at or after it
	swept    limit.Instant
	shared   map[string]*scopeSet // by what Config.Alias names
	watch    watch
	replicas int // see SetReplicas

	desk *desk // nil unless a store judges

	// What a scope is that nobody has used yet. Only asked, never charged.
	unusedApp, unusedMethod *window.Scope
}

type bucketID struct {
	host, method string
	keyless      bool
}

// New makes a machine in which nothing has happened yet.
func New(cfg Config) *Machine {
	m := &Machine{
		cfg: cfg, ring: new(ring), hosts: map[string]*host{}, clients: map[string]*client{}, buckets: map[bucketID]*bucket{}, shared: map[string]*scopeSet{}, swept: -limit.Never,
	}
	if cfg.Shared {
		m.desk = &desk{accounts: map[accountID]*account{}, replicas: 1}
	}
	m.unusedApp, m.unusedMethod = m.newScope(cfg.Assumed, false), m.newScope(nil, true)
	ids := make([]int, cfg.Keys)
	for i := range ids {
		ids[i] = m.AddKey(0, nil)
	}
	m.SetKeys(0, ids, nil)
	m.expel, m.watch.ends = false, limit.Never
	return m
}

// Request is a call that wants to be admitted.
type Request struct {
	Host, Method string
	Keyless      bool          // carries no key: method's scope only (R5)
	High         bool          // priority
	Pin          int           // place of the key to wait for, or -1
	Group        int           // of keys, for a call that isn't pinned
	First        bool          // not on whichever key of the group is free, but on the first that is any good
	Deadline     limit.Instant // latest start; at or before now: now or never
	Front        bool          // back after a 429: first in its lane, beyond the bounds of the queues
	Budget       uint16        // from 1; 0 = none
	Unbound      bool          // counts for its budget, whose share doesn't hold it back: high priority
	Client       string        // whose call it is: queues are apart, and turns rotate between clients
}

// class returns the lanes that the call may wait in.
func (r Request) class() class {
	c := class{high: r.High, keyless: r.Keyless, pin: -1, budget: r.Budget, unbound: r.Unbound}
	switch {
	case r.Keyless:
	case r.Pin >= 0:
		c.pin = int32(r.Pin)
	default:
		c.group, c.first = int32(r.Group), r.First
	}
	return c
}

// Reason says why a call was refused.
type Reason uint8

// The reasons.
const (
	None      Reason = iota
	QueueFull        // the queue is full
	Deadline         // it could not start in time
	NoKey            // there is no key for it, or none that is any good
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
	Key int    // its id; -1 for a keyless call
	Gen uint32 // the shell's own: counts the uses of this Permit

	since    limit.Instant // of its admission
	hold     window.Hold
	bucket   *bucket
	index    int           // in Machine.permits
	probe    bool          // the only one that tries its key in its place
	reported bool          // to the store, when it was counted
	counted  limit.Instant // and when that was, if it was told before the answer
}

// turn is by how much Machine.turn goes up: there is room for newcomers between
// two grants.
const turn = 2

// wake sets when a host is to be looked at.
func (m *Machine) wake(h *host, at limit.Instant) {
	if h.pos < 0 {
		m.wakes.push(&h.node, int64(at))
	} else {
		m.wakes.fix(&h.node, int64(at))
	}
}

// NextWake returns when Poll can next let a call go, or tell that a stop is
// over; Never when only an event can bring that about.
func (m *Machine) NextWake() limit.Instant {
	return min(m.wakes.top(), m.watch.ends)
}

// Poll lets every call go that can go at now.
func (m *Machine) Poll(now limit.Instant, granted func(*Waiter, *Permit)) {
	m.endStops(now)
hosts:
	for m.wakes.top() <= now {
		h := m.wakes[0].host
		for !h.empty() {
			w, p := m.next(now, h)
			if w == nil {
				break
			}
			shares := len(p.bucket.set.buckets) > 1
			granted(w, p)
			if shares && !h.empty() {
				// R8: the other hosts of the budget have their turn.
				h.last = m.turn
				m.wake(h, now)
				continue hosts
			}
		}
		if !h.empty() {
			m.wake(h, max(h.wakeAt(), now+1))
		}
	}
}

// policy is how calls of a class are admitted on a host.
func (m *Machine) policy(h *host, c class, unpaced bool) window.Policy {
	return window.Policy{Burst: m.cfg.Burst, Unpaced: unpaced, High: c.high, Margin: h.margin.J(), Budget: c.budget, Unbound: c.unbound}
}

// newMargin makes a margin that starts at what it was, if that is known and
// within its bounds.
func (m *Machine) newMargin(was time.Duration) *window.Margin {
	most := max(m.cfg.Margin, m.cfg.MaxMargin)
	return window.NewMargin(window.Bounds{Start: min(max(was, m.cfg.Margin), most), Min: m.cfg.Margin, Max: most})
}
