package sched

import (
	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// Expel refuses the calls in the queues that have lost their chance: those
// whose keys are all suspect, with a probe that failed, or disabled, or are no
// more, and those that can't start in time any longer, because of a stop after a 429, a limit lower
// than was known, or what other replicas have used. It belongs after whatever may have brought that about: Judge,
// Answer, Deny, Disable and SetKeys; and after Enqueue, for which others may have
// had to make room.
func (m *Machine) Expel(now limit.Instant, refuse func(*Waiter, Refusal)) {
	for i, x := range m.pushed {
		m.pushed[i] = pushed{}
		refuse(x.w, x.why)
	}
	m.pushed = m.pushed[:0]
	if m.expel {
		m.expel = false
		for _, b := range m.buckets {
			for _, l := range b.lanes {
				m.expelKeyless(now, l, refuse)
			}
		}
	}
	if len(m.tighter) == 0 {
		return
	}
	// First by what a lane's own calls need, then by what is left of the
	// others: who is refused himself is in nobody's way.
	for _, own := range [...]bool{true, false} {
		for _, b := range m.tighter {
			for _, l := range b.lanes {
				for q := l.head; q != nil; {
					next := q.next // q is no more once it is empty
					m.expelLate(now, q, own, refuse)
					q = next
				}
			}
		}
	}
	for i, b := range m.tighter {
		b.tighter, m.tighter[i] = false, nil
	}
	m.tighter = m.tighter[:0]
}

func (m *Machine) expelKeyless(now limit.Instant, l *lane, refuse func(*Waiter, Refusal)) {
	if l.n == 0 || m.usable(l.bucket, l.line.class) {
		return
	}
	why := Refusal{NoKey, m.nextProbe(now, l.bucket, l.line.class)}
	for l.n > 0 {
		w := l.head.head
		m.leave(w)
		refuse(w, why)
	}
}

// expelLate refuses the calls of a queue that can't start in time. A prediction
// costs more than a look at a call, and is never earlier for one further back:
// so it serves an eighth more of the queue than it was made for, and the time at
// which a refused call should come back an eighth more of them.
func (m *Machine) expelLate(now limit.Instant, q *queue, own bool, refuse func(*Waiter, Refusal)) {
	l, client := q.lane, q.party.client.name
	var start limit.Instant
	var next *Waiter
	kept, predictAt := 0, 1
	var back limit.Instant // when a refused call should come back
	refused, promiseAt := 0, 1
	for w := q.head; w != nil; w = next {
		next = w.next
		if w.deadline < limit.Never || m.draining {
			if kept+1 >= predictAt {
				if own {
					start = m.place(now, l, place{kept + 1, kept + 1}, place{kept + 1, kept + 1})
				} else {
					start = m.predict(now, l, client, kept+1)
				}
				predictAt = kept + 1 + max(1, kept/8)
			}
			if why := m.tooLate(now, w.deadline, start); why.Reason != None {
				m.leave(w)
				if why.Reason == Deadline {
					if refused++; refused < promiseAt {
						l.promises(client).add(back)
					} else {
						back = m.promise(now, l, client, kept)
						promiseAt = refused + max(1, refused/8)
					}
					why.Start = max(why.Start, back)
				}
				refuse(w, why)
				continue
			}
		}
		kept++
	}
}

// tightened has Expel look at the calls that wait for what an answer has shown
// to be tighter than was thought.
func (m *Machine) tightened(b *bucket, lesson window.Lesson) {
	if lesson.MethodTighter {
		for _, same := range b.set.buckets {
			m.tighten(same)
		}
	}
	if lesson.AppTighter {
		m.tightenHost(b.host)
	}
}

func (m *Machine) tightenHost(h *host) {
	m.eachWaiting(h, func(l *lane) { m.tighten(l.bucket) })
}

func (m *Machine) tighten(b *bucket) {
	if b.queued > 0 && !b.tighter {
		b.tighter = true
		m.tighter = append(m.tighter, b)
	}
}
