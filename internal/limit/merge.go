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
