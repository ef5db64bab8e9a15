package sched

import (
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// ChangeKind says what has changed.
type ChangeKind uint8

// The kinds.
const (
	LimitLearned  ChangeKind = iota // Riot has told a limit that it had not told before
	LimitChanged                    // Riot tells another number, or no longer any
	LimitReached                    // a window is full, and calls wait for it or are refused
	CooldownBegan                   // a stop after a 429
	CooldownEnded
	LimitsHalved // too many violations
	LimitsRaised // a step back from that
	KeySuspended // Riot doesn't know the key
	KeyReturned  // it does again
	KeyDisabled  // it takes no calls, because somebody said so
	KeyEnabled   // it does again
)

// Change is one thing that has changed, {LimitChanged, key 0 on euw1, 120s: 100
// → 50}.
type Change struct {
	Kind         ChangeKind
	At           limit.Instant
	Key          int    // id; -1 for calls without a key, and for Service
	Part         Part   // whose budget or stop it is; NoPart for a key's
	Host, Method string // Method is empty for Application; both are for a key's
	Window       time.Duration
	Old, New     int           // calls in the window; how often the limits are halved
	Until        limit.Instant // of CooldownBegan
	Cause        limit.Kind    // of a cool-down: the 429
	Status       int           // of KeySuspended: the answer that spoke against it
}

// maxChanges bounds what is kept between two calls of Changes.
const maxChanges = 1024

// watch is what the machine has to tell those who listen. Nobody does unless
// Config.Watch says so: then nothing is kept.
type watch struct {
	changes []Change
	lost    int       // that were too many
	cooling []cooling // the stops whose end is to be told
	ends    limit.Instant
}

// cooling is a stop that goes on.
type cooling struct {
	gate *window.Gate
	end  Change
}

func (m *Machine) tell(c Change) {
	if !m.cfg.Watch {
		return
	}
	if len(m.watch.changes) == maxChanges {
		m.watch.lost++
		return
	}
	m.watch.changes = append(m.watch.changes, c)
}

// Changes returns what has changed since it was last called, in order, and how
// many changes were dropped because they were too many. The list is good until
// the machine is used again.
func (m *Machine) Changes() (list []Change, lost int) {
	list, lost = m.watch.changes, m.watch.lost
	m.watch.changes, m.watch.lost = list[:0], 0
	return list, lost
}

// take charges the scopes of a call, and tells whether that has found a time
// without violations to be over.
func (m *Machine) take(now limit.Instant, p *Permit, policy window.Policy, app, method *window.Scope) {
	b := p.bucket
	if !m.cfg.Watch {
		p.hold.Take(now, policy, &b.service, app, method)
		return
	}
	halvedApp, halved := 0, method.Halved()
	if app != nil {
		halvedApp = app.Halved()
	}
	p.hold.Take(now, policy, &b.service, app, method)
	at := Change{Kind: LimitsRaised, At: now, Key: p.Key, Part: Application, Host: b.host.name}
	if app != nil && app.Halved() < halvedApp {
		at.Old, at.New = halvedApp, app.Halved()
		m.tell(at)
	}
	if method.Halved() < halved {
		at.Part, at.Method, at.Old, at.New = Method, b.method, halved, method.Halved()
		m.tell(at)
	}
}

// learn has the scopes of a call learn from its answer, and tells what that
// changed.
func (m *Machine) learn(now limit.Instant, p *Permit, a window.Answer, app, method *window.Scope) window.Lesson {
	b := p.bucket
	if !m.cfg.Watch {
		return window.Learn(now, a, &p.hold, &b.service, app, method, b.host.margin.J())
	}
	before := look(now, b, app, method)
	lesson := window.Learn(now, a, &p.hold, &b.service, app, method, b.host.margin.J())
	m.compare(now, b, p.Key, app, method, &before, lesson)
	return lesson
}

// standing is how the scopes of a call stood before its answer.
type standing struct {
	limits [2]window.Standing // application's, method's
	cools  [3]bool            // and the service's
}

// look notes how the scopes of a call stand; app may be nil.
func look(now limit.Instant, b *bucket, app, method *window.Scope) (s standing) {
	if app != nil {
		s.limits[0] = app.Standing()
		s.cools[0] = cools(now, &app.Gate)
	}
	s.limits[1] = method.Standing()
	s.cools[1], s.cools[2] = cools(now, &method.Gate), cools(now, &b.service)
	return s
}

func cools(now limit.Instant, g *window.Gate) bool {
	left, _ := g.Cooldown(now)
	return left > 0
}

// compare tells what the answer to a call on a key has changed.
func (m *Machine) compare(now limit.Instant, b *bucket, key int, app, method *window.Scope, before *standing, lesson window.Lesson) {
	after := look(now, b, app, method)
	at := Change{At: now, Key: key, Part: Application, Host: b.host.name}
	tripped := 0
	if lesson.Kind == limit.Method || app == nil {
		tripped = 1
	}
	if app != nil {
		m.compareLimits(at, &before.limits[0], &after.limits[0], lesson.Tripped && tripped == 0)
		m.compareStops(now, at, &app.Gate, before.cools[0])
	}
	at.Part, at.Method = Method, b.method
	m.compareLimits(at, &before.limits[1], &after.limits[1], lesson.Tripped && tripped == 1)
	m.compareStops(now, at, &method.Gate, before.cools[1])
	at.Part, at.Key = Service, -1
	m.compareStops(now, at, &b.service, before.cools[2])
}

func (m *Machine) compareLimits(at Change, before, after *window.Standing, tripped bool) {
	for _, q := range after.Quotas() {
		c := at
		old, had := before.Of(q)
		switch c.Window, c.New = q.W, q.N; {
		case !after.Told:
			continue
		case !before.Told || !had:
			c.Kind = LimitLearned
		case old.N != q.N:
			c.Kind, c.Old = LimitChanged, old.N
		default:
			continue
		}
		m.tell(c)
	}
	if before.Told {
		for _, q := range before.Quotas() {
			if _, stays := after.Of(q); !stays {
				c := at
				c.Kind, c.Window, c.Old = LimitChanged, q.W, q.N
				m.tell(c)
			}
		}
	}
	at.Old, at.New = before.Halved, after.Halved
	switch {
	case tripped:
		at.Kind = LimitsHalved
		m.tell(at)
	case after.Halved < before.Halved:
		at.Kind = LimitsRaised
		m.tell(at)
	}
}

// compareStops tells of a stop that wasn't there before, and notes that its end
// is to be told.
func (m *Machine) compareStops(now limit.Instant, at Change, g *window.Gate, before bool) {
	left, cause := g.Cooldown(now)
	if before || left == 0 {
		return
	}
	at.Kind, at.Until, at.Cause = CooldownBegan, now.Add(left), cause
	m.tell(at)
	m.watch.ends = min(m.watch.ends, at.Until)
	at.Kind = CooldownEnded
	m.watch.cooling = append(m.watch.cooling, cooling{g, at})
}

// endStops tells of the stops that are over at now. One that was prolonged is
// told when it is over at last.
func (m *Machine) endStops(now limit.Instant) {
	if m.watch.ends > now {
		return
	}
	m.watch.ends = limit.Never
	on := m.watch.cooling[:0]
	for _, c := range m.watch.cooling {
		if left, _ := c.gate.Cooldown(now); left > 0 {
			m.watch.ends = min(m.watch.ends, now.Add(left))
			on = append(on, c)
			continue
		}
		c.end.At, c.end.Until = now, 0
		m.tell(c.end)
	}
	clear(m.watch.cooling[len(on):])
	m.watch.cooling = on
}

// reached tells of the full windows that keep the calls of lane l from going.
func (m *Machine) reached(now limit.Instant, l *lane, p window.Policy) {
	if !m.cfg.Watch {
		return
	}
	b := l.bucket
	at := Change{Kind: LimitReached, At: now, Key: -1, Host: b.host.name}
	told := func(q limit.Quota) {
		at.Window, at.Old, at.New = q.W, q.N, q.N
		m.tell(at)
	}
	if b.keyless {
		at.Part, at.Method = Method, b.method
		m.method(b, 0).Filled(now, p, told)
		return
	}
	for _, id := range m.ring.candidates(l.line.class) {
		if m.ring.from[id] != 0 {
			continue // suspect: nothing waits for its limits
		}
		at.Key, at.Part, at.Method = id, Application, ""
		m.app(b.host, id).Filled(now, p, told)
		at.Part, at.Method = Method, b.method
		m.method(b, id).Filled(now, p, told)
	}
}
