package sched

import (
	"time"

	"riftrelay/internal/limit"
)

// promises are the times at which refused calls were told to come back, so that
// the next one is told a later time: otherwise all would return at once, and all
// but a few in vain.
type promises struct {
	list  []promised // in order of time
	n     int
	extra int // calls beyond maxPromised
}

type promised struct {
	at limit.Instant
	n  int
}

const (
	maxPromised = 1 << 10 // times that are kept apart; further calls share them
	sameTime    = 100 * time.Millisecond
)

// outstanding returns how many calls come back before the next that is refused.
func (p *promises) outstanding(now limit.Instant) int {
	for len(p.list) > 0 && p.list[0].at <= now {
		p.n -= p.list[0].n
		p.list = p.list[1:]
	}
	if p.n < maxPromised {
		return p.n
	}
	p.extra++
	return p.extra % maxPromised
}

func (p *promises) add(at limit.Instant) {
	if p.n >= maxPromised || at == limit.Never {
		return
	}
	p.n++
	if last := len(p.list) - 1; last >= 0 && at < p.list[last].at.Add(sameTime) {
		p.list[last].n++
		return
	}
	p.list = append(p.list, promised{at, 1})
}

// promise returns when a call of lane l that is refused should come back: when
// room is expected once k calls, and those that were told so before, have had
// theirs.
func (m *Machine) promise(now limit.Instant, l *lane, client string, k int) limit.Instant {
	p := l.promises(client)
	at := m.predict(now, l, client, k+1+p.outstanding(now))
	p.add(at)
	return at
}

// promises returns those made to a client.
func (l *lane) promises(client string) *promises {
	if q := l.find(client); q != nil {
		return &q.promised
	}
	return &l.refused // of all clients of which no call waits here
}

// Refused returns the Refusal of a call that has waited as long as it may.
func (m *Machine) Refused(now limit.Instant, r Request) Refusal {
	e := m.Estimate(now, r, 1)
	b := m.buckets[bucketID{r.Host, r.Method, r.Keyless}]
	if e.Reason != None || b == nil {
		return e
	}
	if l := b.find(r.class()); l != nil {
		e.Start = m.promise(now, l, r.Client, l.waiting(r.Client))
	}
	return e
}
