package memstore_test

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/memstore"
)

// A limit of more than a call a microsecond has a schedule too.
func TestStorePacesAnyLimit(t *testing.T) {
	s := memstore.NewMemoryStore(func() limit.Instant { return 0 })
	r, err := s.Admit(t.Context(), &limit.Ask{
		Budget: limit.Budget{Key: "k", Host: "h"}, Replica: "a", Horizon: time.Second,
		Assumed: []limit.Quota{{N: 5_000_000, W: time.Second}},
		Demands: []limit.Demand{{Method: "m", Want: [2]int{1, 0}}},
	})
	if err != nil || len(r.Grants) != 1 {
		t.Errorf("granted %d, %v; want 1", len(r.Grants), err)
	}
}

// A stop lasts no shorter than it was told, to the millisecond.
func TestStoreStopsAreRoundedUp(t *testing.T) {
	const stop = 1500*time.Millisecond + time.Nanosecond
	budget := limit.Budget{Key: "k", Host: "h"}
	ask := &limit.Ask{Budget: budget, Replica: "a"}

	s := memstore.NewMemoryStore(func() limit.Instant { return 0 })
	withStop := *ask
	withStop.Facts = []limit.Fact{{Stop: stop, Cause: limit.Application}}
	if r, err := s.Admit(t.Context(), &withStop); err != nil || r.App.Stop < stop {
		t.Errorf("a fact's stop of %v is kept as %v, %v", stop, r.App.Stop, err)
	}

	s = memstore.NewMemoryStore(func() limit.Instant { return 0 })
	merging := *ask
	merging.Merge = &limit.Merge{Number: 1, Scopes: []limit.Account{{Saved: limit.Saved{Stop: stop, Cause: limit.Application}}}}
	if r, err := s.Admit(t.Context(), &merging); err != nil || r.App.Stop < stop {
		t.Errorf("a merged stop of %v is kept as %v, %v", stop, r.App.Stop, err)
	}
}
