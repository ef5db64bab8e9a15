package memstore

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// A budget that a Merge creates has the windows that are assumed, as any other.
func TestMergeLeavesWhatIsAssumed(t *testing.T) {
	m := NewMemoryStore(func() limit.Instant { return limit.Instant(time.Hour) })
	ask := &limit.Ask{Budget: limit.Budget{Key: "k", Host: "h"}, Replica: "a", Assumed: []limit.Quota{{N: 20, W: time.Second}}, Merge: &limit.Merge{
		Process: 1, Number: 1, Scopes: []limit.Account{{Saved: limit.Saved{Windows: []limit.SavedWindow{{N: 100, W: 2 * time.Minute, Own: []limit.SavedCharge{{N: 3}}}}}}},
	}}
	r, err := m.Admit(t.Context(), ask)
	if err != nil || len(r.App.Windows) != 2 || r.App.Windows[0].Quota != ask.Assumed[0] || r.App.Windows[1].Used != 3 {
		t.Errorf("%+v, %v; want 20:1 beside what was spent", r.App.Windows, err)
	}
}
