package sched

import (
	"cmp"
	"math"
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// Ask is what a store is to be asked for one budget.
type Ask struct {
	Key  int // id; -1 for keyless calls
	Host string
	limit.Ask

	account *account
	buckets []*bucket // by demand
	wants   [][2]int  // by demand
}

// NextAsk returns when Ask next has something to ask.
func (m *Machine) NextAsk() limit.Instant {
	if m.desk.alone {
		return limit.Never
	}
	at := m.desk.due.top()
	if m.queued > 0 {
		at = min(at, m.desk.sought.Add(seekEvery))
	}
	return at
}

// SetHorizon sets how far ahead permits are asked for: twice the way to the
// store and back, and a little more.
func (m *Machine) SetHorizon(d time.Duration) { m.desk.horizon = d }

// Ask returns the next question to the store; nil when there is none at now. Its
// answer goes to Replied, or Failed.
func (m *Machine) Ask(now limit.Instant) *Ask {
	if m.queued > 0 && !m.desk.alone && m.desk.sought.Add(seekEvery) <= now {
		m.seekAll(now)
	}
	for m.NextAsk() <= now {
		a := m.desk.due[0].account
		m.desk.due.remove(&a.node)
		if q := m.ask(now, a); q != nil {
			return q
		}
	}
	return nil
}

func (m *Machine) ask(now limit.Instant, a *account) *Ask {
	m.giveBack(now, a)
	q := &Ask{Key: a.key, Host: a.host.name, account: a}
	next := m.demand(now, a, q)
	if nothing := len(a.done)+len(a.facts) == 0; len(q.Demands) == 0 && !a.owes() && !a.hear && (nothing || now < a.flush) {
		if len(a.with) > 0 {
			next = min(next, now.Add(flushAfter))
		}
		if !nothing {
			next = min(next, a.flush)
		}
		m.desk.wants(a, next)
		return nil
	}
	q.Merge = m.merging(now, a)
	n := min(len(a.done), limit.MostDone)
	for _, d := range a.done[:n] {
		q.Done = append(q.Done, limit.Done{Stub: d.stub, Unsent: d.unsent, Ago: now.Sub(d.at)})
	}
	a.done = append(a.done[:0], a.done[n:]...)
	for _, f := range a.facts {
		f.SentAgo = now.Sub(f.sent)
		q.Facts = append(q.Facts, f.Fact)
	}
	a.facts = a.facts[:0]
	if a.flush = limit.Never; len(a.done) > 0 {
		a.flush = now
	}
	q.Burst, q.Margin, q.Horizon = m.cfg.Burst, a.host.margin.J(), m.horizon(a, q)
	if a.key >= 0 {
		q.Assumed = m.cfg.Assumed
	}
	for i, b := range q.buckets {
		_, s := m.use(b, a.key)
		s.Asking(q.wants[i])
	}
	a.asking, a.hear = true, false
	return q
}

// Where calls are denser than denseStep permits are asked for up to denseFor
// further ahead: so the store isn't asked more often for more calls. What is
// granted takes up room until it starts, so it is no more than a hundredth of a
// window.
const (
	denseStep = 10 * time.Millisecond
	denseFor  = 80 * time.Millisecond
)

// horizon is how far ahead permits are asked for.
func (m *Machine) horizon(a *account, q *Ask) time.Duration {
	d := m.desk.horizon
	if a.key < 0 {
		return d
	}
	app := m.app(a.host, a.key)
	shortest := app.Shortest()
	for _, b := range q.buckets {
		if w := m.method(b, a.key).Shortest(); w > 0 {
			shortest = min(shortest, w)
		}
	}
	if step := app.Step(); step < denseStep {
		d += min(denseFor*(denseStep-step)/denseStep, shortest/100)
	}
	return d
}

// giveBack reports the leases that nobody waits for, or that are too old.
func (m *Machine) giveBack(now limit.Instant, a *account) {
	with := a.with[:0]
	for _, b := range a.with {
		_, s := m.use(b, a.key)
		for _, x := range s.Spare(now, b.eligible(m, now, a.key)) {
			a.report(done{x.Stub, true, now})
			a.flush = now
			if x.By <= now {
				m.desk.void++
			} else {
				m.desk.returned++
			}
		}
		if s.Outstanding(0)+s.Outstanding(1) > 0 {
			with = append(with, b)
		}
	}
	clear(a.with[len(with):])
	a.with = with
}

// eligible counts, by class, the calls of a bucket that wait and may go on a
// key.
func (b *bucket) eligible(m *Machine, now limit.Instant, key int) (n [2]int) {
	for _, l := range b.lanes {
		if l.n > 0 && m.asks(now, l, key) {
			n[index(l.line.class.high)] += min(l.n, m.roomExtra(now, l, key))
		}
	}
	return n
}

// demand fills in what is wanted on an account and returns when more may be.
func (m *Machine) demand(now limit.Instant, a *account, q *Ask) (next limit.Instant) {
	next = limit.Never
	var buckets []*bucket
	seen := map[*bucket]bool{}
	m.eachWaiting(a.host, func(l *lane) {
		if b := l.bucket; !seen[b] && b.keyless == (a.key < 0) {
			seen[b] = true
			buckets = append(buckets, b)
		}
	})
	if a.key >= 0 {
		if at := m.app(a.host, a.key).Opens(now); at > now.Add(m.desk.horizon) {
			return at // stopped
		}
	}
	slices.SortStableFunc(buckets, func(x, y *bucket) int { return cmp.Compare(x.served(), y.served()) })
	for _, b := range buckets {
		key := max(a.key, 0)
		s := m.method(b, key)
		if at := max(b.service.Next(now), s.Opens(now)); at > now.Add(m.desk.horizon) {
			next = min(next, at)
			continue
		}
		var want [2]int
		for class := range want {
			n := m.unmet(now, b, a.key, class)
			if n == 0 {
				next = min(next, m.freeExtra(now, b, a.key, class))
				continue
			}
			if at := s.AskAt(class); at > now {
				next = min(next, at)
				continue
			}
			want[class] = min(n, limit.MostWanted)
		}
		if want == [2]int{} {
			continue
		}
		if len(q.Demands) == limit.MostDemands {
			return now // the rest next time
		}
		q.Demands = append(q.Demands, limit.Demand{Method: b.method, Want: want})
		q.buckets, q.wants = append(q.buckets, b), append(q.wants, want)
	}
	return next
}

// served returns the turn in which calls of the bucket were last served, of those
// lanes that wait the one served longest ago.
func (b *bucket) served() int64 {
	turn := int64(math.MaxInt64)
	for _, l := range b.lanes {
		if l.n > 0 {
			turn = min(turn, l.served)
		}
	}
	return turn
}

// unmet counts the calls of a bucket and class for which there is no lease yet,
// nor one being asked for. Calls that can go on this key alone don't count
// those of other keys.
func (m *Machine) unmet(now limit.Instant, b *bucket, key, class int) int {
	pinned, shared := 0, 0
	for _, l := range b.lanes {
		switch {
		case l.n == 0 || index(l.line.class.high) != class || !m.asks(now, l, key):
		case l.line.class.pin >= 0:
			pinned += min(l.n, m.roomExtra(now, l, key))
		default:
			shared += min(l.n, m.roomExtra(now, l, key))
		}
	}
	if pinned+shared == 0 {
		return 0
	}
	mine, all := 0, 0
	for id, s := range b.set.scopes {
		if s != nil {
			n := s.Outstanding(class)
			all += n
			if id == max(key, 0) {
				mine = n
			}
		}
	}
	return max(0, pinned-mine) + max(0, shared-all)
}
