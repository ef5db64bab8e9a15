package window

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// TestRingAgainstSlice holds a ring against a slice of times. The ring may keep
// a charge for one span longer, never shorter.
func TestRingAgainstSlice(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		span := time.Duration(1 + rng.IntN(20))
		var r ring
		var naive []limit.Instant
		now := limit.Instant(1000)
		unexpired := func(t limit.Instant) (n int) {
			for _, at := range naive {
				if at > t {
					n++
				}
			}
			return n
		}
		cut := limit.Instant(0)
		for step := range 500 {
			now += limit.Instant(rng.IntN(12))
			switch rng.IntN(6) {
			case 0, 1, 2:
				n := 1 + rng.IntN(3)
				r.push(now, n, span)
				for range n {
					naive = append(naive, now)
				}
			case 3: // one that can't have expired yet
				if i := rng.IntN(len(naive) + 1); i < len(naive) && naive[i] > cut {
					if !r.remove(naive[i]) {
						t.Fatalf("seed %d, step %d: charge of %d not found", seed, step, naive[i])
					}
					naive = slices.Delete(naive, i, i+1)
				}
			case 4:
				n := min(rng.IntN(4), unexpired(cut))
				r.pop(n)
				naive = naive[:len(naive)-n]
			case 5:
				cut = max(cut, now-limit.Instant(rng.IntN(100)))
				r.expire(cut)
			}
			if least, most := unexpired(cut), unexpired(cut-limit.Instant(span)); r.n < least || r.n > most {
				t.Fatalf("seed %d, step %d: %d charges, want %d to %d", seed, step, r.n, least, most)
			}
		}
		r.expire(now)
		if r.n != 0 || r.len != 0 {
			t.Fatalf("seed %d: %d charges in %d entries are left", seed, r.n, r.len)
		}
	}
}

func TestRingCostsWhatItsActivityCosts(t *testing.T) {
	const w = 10 * time.Second
	var r ring
	for i := range 100_000 { // in 10 s
		now := limit.Instant(i) * limit.Instant(100*time.Microsecond)
		r.push(now, 1, spanOf(w))
		r.expire(now.Add(-w))
	}
	if len(r.buf) > 1024 {
		t.Errorf("100,000 charges take %d entries", len(r.buf))
	}
	r.expire(limit.Instant(time.Hour))
	if len(r.buf) > 64 {
		t.Errorf("%d entries kept when idle", len(r.buf))
	}
}

func TestRingRemoveUnknown(t *testing.T) {
	var r ring
	r.push(10, 1, 5)
	r.push(30, 1, 5)
	for _, at := range []limit.Instant{9, 11, 29, 31} {
		if r.remove(at) {
			t.Errorf("removed a charge at %d that isn't there", at)
		}
	}
	if !r.remove(10) || r.remove(10) {
		t.Error("a charge can be removed once")
	}
	r.expire(10)
	if r.n != 1 || r.len != 1 {
		t.Errorf("%d charges in %d entries, want 1 in 1", r.n, r.len)
	}
}

func TestSpanOf(t *testing.T) {
	for w, want := range map[time.Duration]time.Duration{
		time.Second / 4:    time.Millisecond,
		time.Second:        time.Second / 512,
		512 * time.Second:  time.Second,
		7 * 24 * time.Hour: maxSpan,
	} {
		if got := spanOf(w); got != want {
			t.Errorf("spanOf(%v) = %v, want %v", w, got, want)
		}
	}
}
