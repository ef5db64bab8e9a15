package limittest_test

import (
	"testing"
	"time"

	"riftrelay/limit"
	"riftrelay/limit/limittest"
)

// memory is the reference, on a clock that is set.
func memory(testing.TB) limittest.Harness {
	now := limit.Instant(time.Hour)
	store := limit.NewMemoryStore(func() limit.Instant { return now })
	return limittest.Harness{
		Store: store,
		Wait:  func(d time.Duration) { now = now.Add(d) },
		Now:   func() time.Duration { return time.Duration(now) },
		Lose:  store.Forget,
	}
}

func TestMemoryStore(t *testing.T) { limittest.Run(t, memory) }
