package sched

import (
	"time"

	"riftrelay/internal/limit"
)

// desk is where a machine asks a store that judges for it (limit.Store): what
// waits on which budget, what is to be reported, and when.
type desk struct {
	accounts map[accountID]*account
	due      heap // of accounts, by when they are to be looked at
	horizon  time.Duration
	alone    bool          // the store is away
	closed   bool          // the store is away, and nothing goes
	shut     limit.Instant // since when
	replicas int
	trusted  limit.Instant // from when on Riot's counts can be compared with the store's
	sought   limit.Instant // when everything that waits was last sought: see seek.go
	now      limit.Instant // of the latest event

	merges         int64 // ever: see limit.Merge.Number
	returned, void int64 // permits ever: given back unused; too late
}

// DeskState is how the asking of a store goes.
type DeskState struct {
	Alone          bool  // the store is away, the machine judges
	Closed         bool  // the store is away, and nothing goes
	Returned, Void int64 // permits ever: given back unused; that came too late, or were not used in time
}

// Desk describes the asking of a store.
func (m *Machine) Desk() DeskState {
	d := m.desk
	return DeskState{Alone: d.alone, Closed: d.closed, Returned: d.returned, Void: d.void}
}

type accountID struct {
	host *host
	key  int // -1 for keyless calls
}

// account is one budget: a key on a host.
type account struct {
	node
	host   *host
	key    int
	asking bool
	epoch  int64
	done   []done
	facts  []fact
	flush  limit.Instant // when done and facts are to be reported at the latest
	with   []*bucket     // that have leases
	merge  bool          // what was spent here has to be told
	told   *told         // and was, but no answer has come yet
	hear   bool          // the store has to be asked, if only to hear of its epoch
	from   limit.Instant // what was spent since then
}

// spareAfter is how long a lease waits for a call before it is given back.
const spareAfter = 10 * time.Millisecond

// account returns the budget of a key on a host, made if need be.
func (m *Machine) account(h *host, key int) *account {
	id := accountID{h, key}
	a := m.desk.accounts[id]
	if a == nil {
		a = &account{host: h, key: key, flush: limit.Never}
		a.pos, a.node.account = -1, a
		m.desk.accounts[id] = a
	}
	return a
}

// idle reports whether all of some accounts could be forgotten: none asks
// anything, or has anything to tell.
func (d *desk) idle(of func(accountID) bool) bool {
	if d == nil {
		return true
	}
	for id, a := range d.accounts {
		if of(id) && (a.asking || len(a.done)+len(a.facts)+len(a.with) > 0 || a.owes()) {
			return false
		}
	}
	return true
}

// forget drops accounts: their key's id, or their host's place, will be another's.
func (d *desk) forget(of func(accountID) bool) {
	if d == nil {
		return
	}
	for id, a := range d.accounts {
		if !of(id) {
			continue
		}
		if a.pos >= 0 {
			d.due.remove(&a.node)
		}
		delete(d.accounts, id)
	}
}

// wants has an account looked at by at.
func (d *desk) wants(a *account, at limit.Instant) {
	switch {
	case a.asking || at == limit.Never: // looked at when the answer comes
	case a.pos < 0:
		d.due.push(&a.node, int64(at))
	case limit.Instant(a.node.key) > at:
		d.due.fix(&a.node, int64(at))
	}
}

// asks reports whether calls of a lane may go on a key, so that it is worth
// asking for them there.
func (m *Machine) asks(now limit.Instant, l *lane, id int) bool {
	c := l.line.class
	if c.keyless {
		return id < 0
	}
	if id < 0 || m.ring.from[id] != 0 { // a probe goes without a lease
		return false
	}
	ids := m.ring.candidates(c)
	if c.first {
		return contains(m.choice(now, l.bucket, c, m.policy(l.bucket.host, c, c.high)), id)
	}
	return contains(ids, id) && (l.bucket.endpoint.keys == nil || c.pin >= 0 || m.ring.shuns(now, l.bucket, id, ids) <= now)
}

func contains(ids []int, id int) bool {
	for _, x := range ids {
		if x == id {
			return true
		}
	}
	return false
}

// given notes that a lane has fewer calls than leases may have been taken for.
func (m *Machine) given(l *lane) {
	b := l.bucket
	class := index(l.line.class.high)
	for id, s := range b.set.scopes {
		if s != nil && s.Outstanding(class) > 0 {
			if b.keyless {
				id = -1
			}
			m.desk.wants(m.account(b.host, id), m.desk.now.Add(spareAfter))
		}
	}
}

// Overdue reports the calls that Riot has counted by now though no answer has
// come: their charges can expire.
func (m *Machine) Overdue(now limit.Instant) {
	for _, p := range m.permits {
		lease, leased := p.hold.Leased()
		sentAt, sent := p.hold.IsSent()
		if at := sentAt.Add(p.bucket.host.margin.J()); leased && sent && !p.reported && at <= now {
			p.reported, p.counted = true, at
			a := m.account(p.bucket.host, p.Key)
			a.report(done{lease.Stub, false, at})
			m.plan(now, a, flushAfter)
		}
	}
}
