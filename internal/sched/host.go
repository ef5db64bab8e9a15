package sched

import (
	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// host is one routing value with its application scopes and everything that
// waits for them.
type host struct {
	node      // in Machine.wakes while calls wait
	name      string
	ring      *ring
	apps      []*window.Scope // by key, made when first used
	buckets   int
	endpoints map[string]*endpoint // by API, those of the buckets
	margin    *window.Margin       // J of the way to it
	lines     []*line
	busy      []*line     // of lines, those with calls
	waiting   [2]int      // calls by priority: normal, high
	keyed     int         // of the normal ones, those that need the application's budget
	parties   [2][]*party // by priority: the clients that wait
	served    [2]int64    // by priority: the turn of the latest grant
	turns     []int       // by group, which of its keys is tried first: ties go round robin
	credit    int         // grants that high had while keyed ones waited; at fairShare normal goes
}

// fairShare is how many grants high has for each one of normal's, while both
// want them: every 20th is normal's.
const fairShare = 19

func (h *host) line(c class) *line {
	for _, q := range h.lines {
		if q.class == c {
			return q
		}
	}
	q := &line{class: c}
	h.lines = append(h.lines, q)
	return q
}

// enter adds q to busy once one of its lanes has calls.
func (h *host) enter(q *line) {
	if q.lanes++; q.lanes == 1 {
		q.pos = len(h.busy)
		h.busy = append(h.busy, q)
	}
}

// exit removes q from busy once all its lanes are empty.
func (h *host) exit(q *line) {
	if q.lanes--; q.lanes > 0 {
		return
	}
	last := h.busy[len(h.busy)-1]
	h.busy[q.pos], last.pos = last, q.pos
	h.busy = h.busy[:len(h.busy)-1]
}

// turn returns which key of a group of n is tried first.
func (h *host) turn(group, n int) int {
	if group < len(h.turns) && h.turns[group] < n {
		return h.turns[group]
	}
	return 0
}

// pass has the key of a group tried first that comes after this one.
func (h *host) pass(group, index int) {
	for group >= len(h.turns) {
		h.turns = append(h.turns, 0)
	}
	h.turns[group] = index + 1
}

func (h *host) empty() bool { return h.waiting[0]+h.waiting[1] == 0 }

// wakeAt returns when any of its lines is to be looked at again.
func (h *host) wakeAt() limit.Instant {
	at := limit.Never
	for _, q := range h.busy {
		at = min(at, q.wake())
	}
	return at
}

// longestUnserved finds, among the lines of a priority that aren't blocked,
// the ready lane whose turn is first.
func (h *host) longestUnserved(now limit.Instant, high bool) *lane {
	var best *lane
	for _, q := range h.busy {
		if q.class.high != high || len(q.ready) == 0 || q.blocked > now {
			continue
		}
		if l := q.ready[0].lane; best == nil || l.before(best) {
			best = l
		}
	}
	return best
}

// owes reports whether a call of the class, of high priority, has to let normal
// go first in the application's budget.
func (h *host) owes(c class) bool { return !c.keyless && h.keyed > 0 && h.credit >= fairShare }

// pay settles the priorities' accounts for a grant to lane l on a key, in the
// application's budget and in the method's: high owes while normal waits for
// the same, and normal's grant pays.
func pay(l *lane, key int) {
	b, h, c := l.bucket, l.bucket.host, l.line.class
	if !c.high {
		b.credit = max(b.credit-fairShare, 0)
		if !c.keyless {
			h.credit = max(h.credit-fairShare, 0)
		}
		return
	}
	if h.keyed > 0 && !c.keyless {
		h.credit = min(h.credit+1, fairShare)
	}
	if b.normal > 0 && b.waits(key) {
		b.credit = min(b.credit+1, fairShare)
	}
}

func index(high bool) int {
	if high {
		return 1
	}
	return 0
}

// shared reports whether calls of other clients wait, of the same priority.
func (h *host) shared(client string, high bool) bool {
	all := h.parties[index(high)]
	return len(all) > 1 || len(all) == 1 && all[0].client.name != client
}
