package limittest_test

import (
	"flag"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/limittest"
	"riftrelay/internal/memstore"
)

// memory is the reference, on a clock that is set.
func memory(testing.TB) limittest.Harness {
	now := limit.Instant(time.Hour)
	store := memstore.NewMemoryStore(func() limit.Instant { return now })
	return limittest.Harness{
		Store: store,
		Wait:  func(d time.Duration) { now = now.Add(d) },
		Now:   func() time.Duration { return time.Duration(now) },
		Lose:  store.Forget,
	}
}

func TestMemoryStore(t *testing.T) { limittest.Run(t, memory) }

var seed = flag.Uint64("seed", 1, "of the first random history")

func TestMemoryStoreAgainstModel(t *testing.T) { limittest.Check(t, memory, *seed, 100_000) }

// FuzzHistories plays short histories, of 30 steps at most: for each one that is
// new Go's fuzzer tries to leave out every part of it, which are as many tries as
// its length squared, and none of them is counted. TestMemoryStoreAgainstModel
// has the long ones.
func FuzzHistories(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) { limittest.Replay(t, memory(t), data[:min(len(data), 64)]) })
}
