package sched

import (
	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// What the store answered, and what is to be asked next.

// Replied takes over the store's answer to q, which was sent at sentAt.
func (m *Machine) Replied(now, sentAt limit.Instant, q *Ask, r limit.Reply) {
	a := q.account
	m.answered(q)
	a.told = nil
	if m.desk.alone {
		m.desk.void += int64(len(r.Grants))
		return // what was granted ends by itself
	}
	if a.epoch != 0 && a.epoch != r.Epoch {
		m.lost(now, a)
	}
	a.epoch = r.Epoch
	if a.key >= 0 {
		app, _ := m.scopesOf(a, q)
		if app.Adopt(now, r.App) {
			m.tightenHost(a.host)
		}
	}
	bases := make([]*window.Bases, len(q.buckets))
	for i, b := range q.buckets {
		_, s := m.use(b, a.key)
		if s.Adopt(now, r.Views[i]) {
			m.tighten(b)
		}
		bases[i] = &window.Bases{App: r.App.Bases(), Method: r.Views[i].Bases()}
		at := limit.Instant(0)
		if r.Waits[i].In > 0 {
			at = now.Add(r.Waits[i].In)
		}
		for class, n := range q.wants[i] {
			if n > 0 {
				s.AskAgain(class, at, r.Waits[i].Why)
			}
		}
	}
	way := now.Sub(sentAt) / 2 // permits start by the store's clock
	for _, g := range r.Grants {
		b := q.buckets[g.Demand]
		_, s := m.use(b, a.key)
		s.Grant(g.High, window.Lease{
			Stub: g.Stub, Start: max(now, now.Add(g.Start-way)), By: sentAt.Add(g.Start + limit.SendBy), Bases: bases[g.Demand],
		})
		a.holds(b)
	}
	for _, b := range q.buckets {
		m.changed(now, b)
	}
	m.after(now, a)
}

// scopesOf returns the application's scope of an account, made if need be.
func (m *Machine) scopesOf(a *account, q *Ask) (app, method *window.Scope) {
	if len(q.buckets) > 0 {
		return m.use(q.buckets[0], a.key)
	}
	if app = at(a.host.apps, a.key); app == nil {
		app = m.furnish(m.newScope(m.cfg.Assumed, false), a.host.name, "")
		put(&a.host.apps, a.key, app)
	}
	return app, nil
}

func (a *account) holds(b *bucket) {
	for _, x := range a.with {
		if x == b {
			return
		}
	}
	a.with = append(a.with, b)
}

// answered ends the asking of q.
func (m *Machine) answered(q *Ask) {
	a := q.account
	a.asking = false
	for i, b := range q.buckets {
		_, s := m.use(b, a.key)
		s.Asking([2]int{-q.wants[i][0], -q.wants[i][1]})
	}
}

// after has an account looked at again that has been answered.
func (m *Machine) after(now limit.Instant, a *account) {
	at := a.flush
	if a.owes() || a.hear {
		at = now
	}
	if len(a.with) > 0 {
		at = min(at, now.Add(flushAfter))
	}
	m.desk.wants(a, at)
	m.eachWaiting(a.host, func(l *lane) {
		if m.asks(now, l, a.key) && l.bucket.keyless == (a.key < 0) {
			m.desk.wants(a, max(now, m.method(l.bucket, max(a.key, 0)).AskAt(index(l.line.class.high))))
		}
	})
	m.seekHost(now, a.host)
}

// Failed notes that q got no answer. What it reported may have been taken over.
// So only stops, which do no harm twice, and a Merge, of which the store takes
// over no second one, are told again.
func (m *Machine) Failed(now limit.Instant, q *Ask) {
	a := q.account
	m.answered(q)
	for _, f := range q.Facts {
		if f.Stop > 0 {
			a.facts = append(a.facts, fact{f, now.Add(-f.SentAgo)})
			m.plan(now, a, flushAfter)
		}
	}
	m.after(now, a)
}
