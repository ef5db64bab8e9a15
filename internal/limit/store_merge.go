package limit

import (
	"slices"
	"time"
)

// Merge is what a replica knows and has spent of a budget on its own, while it
// could not reach the store, or before there was one.
//
// Its answer may get lost, so it is told again, unchanged, until an answer has
// come. A store takes over each Merge once.
type Merge struct {
	Process int64 // random for each process: a replica that restarts may have its old name
	Number  int64 // above 0; a later Merge of the process has a greater one

	// Epoch is that of the last Reply for the budget, 0 if there was none. A
	// store of another epoch takes nothing over: it is told all that was spent,
	// once the replica has heard of its epoch.
	Epoch int64

	Scopes []Account
}

// Aged returns m as it is told d after it was made.
func (m Merge) Aged(d time.Duration) *Merge {
	m.Scopes = slices.Clone(m.Scopes)
	for i := range m.Scopes {
		m.Scopes[i].Saved = m.Scopes[i].Saved.aged(d)
	}
	return &m
}

// aged returns v with all charges and the stop d older.
func (v Saved) aged(d time.Duration) Saved {
	v.Stop = max(0, v.Stop-d)
	v.Windows = slices.Clone(v.Windows)
	for i := range v.Windows {
		for _, list := range [...]*[]SavedCharge{&v.Windows[i].Own, &v.Windows[i].Others} {
			*list = slices.Clone(*list)
			for k := range *list {
				(*list)[k].Age += d
			}
		}
	}
	return v
}

// mergeMark notes the last Merge of a process that a ledger has taken over.
type mergeMark struct {
	process, number int64
	at              millis
}

// markLasts is how long marks are kept: longer than any window, after which a
// Merge that is told again finds all of its charges gone by.
const markLasts = millis(24 * 60 * 60_000)

// merge takes over m, unless it has done so before.
func (l *ledger) merge(now millis, m *Merge) {
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
func (l *ledger) mark(now millis, m *Merge) bool {
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
