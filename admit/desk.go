package admit

import (
	"time"

	"riftrelay/limit"
)

// desk is where a machine asks a store that judges for it (limit.Store): what
// waits on which budget, what is to be reported, and when.
type desk struct {
	accounts map[accountID]*account
	due      heap // of accounts, by when they are to be looked at
	horizon  time.Duration
	alone    bool // the store is away
	replicas int
	trusted  limit.Instant // from when on Riot's counts can be compared with the store's
	now      limit.Instant // of late

	returned, void int64 // permits ever: given back unused; too late
}

// DeskState is how the asking of a store goes.
type DeskState struct {
	Alone          bool  // the store is away, the machine judges
	Returned, Void int64 // permits ever: given back unused; that came too late, or were not used in time
}

// Desk describes the asking of a store.
func (m *Machine) Desk() DeskState {
	d := m.desk
	return DeskState{Alone: d.alone, Returned: d.returned, Void: d.void}
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
	from   limit.Instant // what was spent since then
}

type done struct {
	stub   limit.Stub
	unsent bool
	at     limit.Instant // when Riot has counted it at the latest
}

type fact struct {
	limit.Fact
	sent limit.Instant
}

// Times of the desk.
const (
	// flushAfter is how long reports wait for company: until the true expiry of
	// a charge nothing is lost.
	flushAfter = 250 * time.Millisecond
	flushMany  = limit.MostDone / 2

	// spareAfter is how long a lease waits for a call before it is given back.
	spareAfter = 10 * time.Millisecond

	// mostFacts bounds what is kept to be reported.
	mostFacts = limit.MostFacts
)

// account gives the budget of a key on a host, made if need be.
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
		if of(id) && (a.asking || len(a.done)+len(a.facts)+len(a.with) > 0 || a.merge) {
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

// seek has a lane's calls asked for: on the key that may be asked first.
func (m *Machine) seek(now limit.Instant, l *lane) {
	m.desk.now = now
	b, class := l.bucket, index(l.line.class.high)
	if l.line.class.keyless {
		a := m.account(b.host, -1)
		m.desk.wants(a, max(now, m.method(b, 0).AskAt(class)))
		return
	}
	var best *account
	first := limit.Never
	ids := m.ring.candidates(l.line.class)
	start := 0
	if l.line.class.pin < 0 {
		start = b.host.turn(int(l.line.class.group), len(ids))
	}
	for i := range ids {
		id := ids[(start+i)%len(ids)]
		if !m.asks(now, l, id) {
			continue
		}
		a := m.account(b.host, id)
		if at := max(now, m.method(b, id).AskAt(class)); !a.asking && at < first {
			best, first = a, at
		}
	}
	if best != nil {
		m.desk.wants(best, first)
	}
}

// asks reports whether calls of a lane may go on a key, so that it is worth
// asking for them there.
func (m *Machine) asks(now limit.Instant, l *lane, id int) bool {
	c := l.line.class
	if c.keyless {
		return id < 0
	}
	if id < 0 || m.ring.from[id] > now {
		return false
	}
	ids := m.ring.candidates(c)
	if c.first {
		return contains(m.choice(now, l.bucket, c, m.policy(l.bucket.host, c, c.high)), id)
	}
	return contains(ids, id) && (l.bucket.shunned == nil || c.pin >= 0 || m.ring.shuns(now, l.bucket, id, ids) <= now)
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

// settled notes the end of a call for the store: when it was counted at the
// latest, or that it was never written.
func (m *Machine) settled(now limit.Instant, p *Permit, at limit.Instant, unsent bool) {
	lease, leased := p.hold.Leased()
	a := m.account(p.bucket.host, p.Key)
	switch {
	case p.reported || m.desk.alone:
	case leased:
		a.report(done{lease.Stub, unsent, at})
	}
	p.reported = true
	m.plan(now, a, false)
}

func (a *account) report(d done) { a.done = append(a.done, d) }

// owe has what was spent since at told to the store.
func (a *account) owe(at limit.Instant) {
	if !a.merge {
		a.merge, a.from = true, at
	}
	a.from = min(a.from, at)
}

// plan has an account's reports sent in time.
func (m *Machine) plan(now limit.Instant, a *account, urgent bool) {
	at := now.Add(flushAfter)
	if urgent || len(a.done) >= flushMany {
		at = now
	}
	a.flush = min(a.flush, at)
	m.desk.wants(a, a.flush)
}

// taught keeps what an answer taught for the store.
func (m *Machine) taught(now limit.Instant, p *Permit, answer limit.Answer, lesson limit.Lesson, app, method *limit.Scope) {
	sentAt, _ := p.hold.IsSent()
	a := m.account(p.bucket.host, p.Key)
	facts := p.hold.Teach(now, answer, lesson, app, method)
	if x, leased := p.hold.Leased(); !leased || x.Stub.At <= a.epoch || sentAt < m.desk.trusted {
		facts[0].Bases, facts[1].Bases = nil, nil // of other times
	}
	urgent := false
	for i, f := range facts {
		if m.desk.alone && f.Stop == 0 {
			continue // others' calls would seem to be strangers'
		}
		s := method
		if i == 0 {
			if s = app; s == nil {
				continue
			}
		} else {
			f.Method = p.bucket.method
		}
		a.note(fact{f, sentAt})
		urgent = urgent || f.Stop > 0 || s.Urgent()
	}
	if until, cause := lesson.Until, lesson.Kind; cause != limit.NotLimited && !cause.Own() {
		m.stopAll(now, p, until, cause, sentAt)
	}
	m.plan(now, a, urgent)
}

// stopAll tells of a stop of the method for all keys.
func (m *Machine) stopAll(now limit.Instant, p *Permit, until limit.Instant, cause limit.Kind, sent limit.Instant) {
	f := fact{limit.Fact{Method: p.bucket.method, Stop: until.Sub(now), Cause: cause}, sent}
	ids := m.ring.places
	if p.bucket.keyless {
		ids = []int{-1}
	}
	for _, id := range ids {
		a := m.account(p.bucket.host, id)
		a.note(f)
		m.plan(now, a, true)
	}
}

// note keeps a fact. Of one scope the latest says all that earlier ones do,
// except stops.
func (a *account) note(f fact) {
	for i := range a.facts {
		if x := &a.facts[i]; x.Method == f.Method && x.Stop == 0 && f.Stop == 0 && (x.Limits == nil || f.Limits != nil) && x.sent <= f.sent {
			f.Passed = f.Passed || x.Passed && x.sent == f.sent
			*x = f
			return
		}
	}
	if len(a.facts) < mostFacts {
		a.facts = append(a.facts, f)
	}
}

// dueProbe gives a suspect key whose probe lane l can send, or -1. It goes
// without a lease: nobody waits for one, and most are refused uncounted (R3).
// The store is told of it.
func (m *Machine) dueProbe(now limit.Instant, l *lane) int {
	b := l.bucket
	for _, id := range m.ring.candidates(l.line.class) {
		if max(m.ring.from[id], b.service.Next(now), m.app(b.host, id).Opens(now), m.method(b, id).Opens(now)) <= now {
			return id
		}
	}
	return -1
}

// Overdue reports the calls that Riot has counted by now though no answer has
// come: their charges can expire.
func (m *Machine) Overdue(now limit.Instant) {
	for _, p := range m.permits {
		lease, leased := p.hold.Leased()
		sentAt, sent := p.hold.IsSent()
		if at := sentAt.Add(p.bucket.host.margin.J()); leased && sent && !p.reported && at <= now {
			p.reported = true
			a := m.account(p.bucket.host, p.Key)
			a.report(done{lease.Stub, false, at})
			m.plan(now, a, false)
		}
	}
}
