package sched

import (
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// What the store is told: the end of each call that went on one of its permits,
// and what answers taught.

type done struct {
	stub   limit.Stub
	unsent bool
	at     limit.Instant // when Riot has counted it at the latest
}

type fact struct {
	limit.Fact
	sent limit.Instant
}

// Times and bounds of reports.
const (
	// A report waits for company, the next question, for half of the shortest
	// window that it is about: nothing is lost until a charge truly expires. What
	// gives room back or tells of strangers' calls waits no longer than flushAfter.
	flushAfter  = 250 * time.Millisecond
	flushLatest = 5 * time.Second
	flushMany   = limit.MostDone / 2

	// mostFacts bounds what is kept to be reported.
	mostFacts = limit.MostFacts
)

// settled notes the end of a call for the store: when it was counted at the
// latest, or that it was never written.
func (m *Machine) settled(now limit.Instant, p *Permit, at limit.Instant, unsent bool) {
	lease, leased := p.hold.Leased()
	a := m.account(p.bucket.host, p.Key)
	switch {
	case m.desk.alone:
	case p.reported && leased && !unsent && at > p.counted:
		// The way has become slower since the sweep: Riot may have counted it later
		// than was told. What was told stays as well, which harms nobody.
		a.report(done{lease.Stub, false, at})
	case p.reported:
	case leased:
		a.report(done{lease.Stub, unsent, at})
	}
	p.reported = true
	if unsent {
		m.plan(now, a, flushAfter)
	} else {
		m.plan(now, a, m.company(p))
	}
}

// company returns how long reports of a call may wait.
func (m *Machine) company(p *Permit) time.Duration {
	app, method := m.use(p.bucket, p.Key)
	d := flushLatest
	for _, s := range [...]*window.Scope{app, method} {
		if s != nil && s.Shortest() > 0 {
			d = min(d, s.Shortest()/2)
		}
	}
	return max(d, flushAfter)
}

func (a *account) report(d done) { a.done = append(a.done, d) }

// plan has an account's reports sent within d.
func (m *Machine) plan(now limit.Instant, a *account, d time.Duration) {
	if len(a.done) >= flushMany {
		d = 0
	}
	a.flush = min(a.flush, now.Add(d))
	m.desk.wants(a, a.flush)
}

// taught keeps what an answer taught for the store.
func (m *Machine) taught(now limit.Instant, p *Permit, answer window.Answer, lesson window.Lesson, app, method *window.Scope) {
	sentAt, _ := p.hold.IsSent()
	a := m.account(p.bucket.host, p.Key)
	facts := p.hold.Teach(now, answer, lesson, app, method)
	if x, leased := p.hold.Leased(); !leased || x.Stub.At <= a.epoch || sentAt < m.desk.trusted {
		facts[0].Bases, facts[1].Bases = nil, nil // of other times
	}
	within := m.company(p)
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
		switch s.Urgency(f) {
		case window.Redundant:
			continue
		case window.Later:
		case window.Soon:
			within = min(within, flushAfter)
		case window.AtOnce:
			within = 0
		}
		a.note(fact{f, sentAt})
	}
	if until, cause := lesson.Until, lesson.Kind; cause != limit.NotLimited && !cause.Own() {
		m.stopAll(now, p, until, cause, sentAt)
	}
	m.plan(now, a, within)
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
		m.plan(now, a, 0)
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
