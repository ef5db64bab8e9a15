package memstore

import (
	"slices"

	"riftrelay/internal/limit"
)

// mergeMark notes the last Merge of a process that a ledger has taken over.
type mergeMark struct {
	process, number int64
	at              millis
}

// markLasts is how long marks are kept: longer than any window, after which a
// Merge that is told again finds all of its charges gone by.
const markLasts = millis(24 * 60 * 60_000)

// merge takes over m, unless it has done so before.
func (l *ledger) merge(now millis, m *limit.Merge) {
	if m == nil || m.Epoch != 0 && m.Epoch != l.epoch || !l.mark(now, m) {
		return
	}
	for _, a := range m.Scopes {
		s := l.scope(now, a.Method)
		s.expire(now)
		s.merge(now, a.Saved)
	}
}

// mark notes m, and reports whether it is new.
func (l *ledger) mark(now millis, m *limit.Merge) bool {
	l.marks = slices.DeleteFunc(l.marks, func(x mergeMark) bool { return x.at+markLasts <= now })
	i := slices.IndexFunc(l.marks, func(x mergeMark) bool { return x.process == m.Process })
	if i < 0 {
		i = len(l.marks)
		l.marks = append(l.marks, mergeMark{process: m.Process})
	}
	if x := &l.marks[i]; m.Number > x.number {
		x.number, x.at = m.Number, now
		return true
	}
	return false
}
