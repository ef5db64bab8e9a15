package limit

import (
	"slices"
	"time"
)

// Saved is what of a scope outlives the process. All times are lengths, counted
// from the moment of saving.
type Saved struct {
	Windows []SavedWindow `json:"windows,omitempty"`
	Stop    time.Duration `json:"stop,omitempty"`  // left of a stop after a 429
	Cause   Kind          `json:"cause,omitempty"` // of the stop
	Strikes int           `json:"strikes,omitempty"`

	Halved     int             `json:"halved,omitempty"`     // how often the limits are halved: see breaker
	Calm       time.Duration   `json:"calm,omitempty"`       // since the last step of that, or the last violation
	Violations []time.Duration `json:"violations,omitempty"` // ages of those that count towards the next step, oldest first
}

// Empty reports whether v says nothing that a new scope doesn't know.
func (v Saved) Empty() bool {
	return len(v.Windows) == 0 && v.Stop == 0 && v.Strikes == 0 && v.Halved == 0 && len(v.Violations) == 0
}

// SavedWindow is one limit with its charges.
type SavedWindow struct {
	N      int           `json:"n"`
	W      time.Duration `json:"w"`
	Own    []SavedCharge `json:"own,omitempty"`    // oldest first
	Others []SavedCharge `json:"others,omitempty"` // oldest first
}

// SavedCharge is N charges that began to expire Age before the saving;
// negative for those that will.
type SavedCharge struct {
	Age time.Duration `json:"age"`
	N   int           `json:"n"`
}

// savedSpans bounds the entries that a window is saved in: more of them are
// rounded up to the next.
const savedSpans = 64

// Save gives what is to be restored after a restart.
func (s *Scope) Save(now Instant, j time.Duration) Saved {
	v := s.Gate.save(now)
	s.breaker.save(now, &v)
	if !s.known && !s.restored {
		return v // what was assumed is no knowledge
	}
	for _, w := range s.windows {
		kept := w.expire(now, j)
		sw := SavedWindow{N: w.quota.N, W: w.quota.W}
		sw.Own = appendSaved(sw.Own, &w.answered, now, 0)
		sw.Own = appendSaved(sw.Own, &w.sent, now, kept)
		if w.pending > 0 {
			sw.Own = append(sw.Own, SavedCharge{Age: -j, N: w.pending}) // sent in this moment, as far as we know
		}
		slices.SortStableFunc(sw.Own, func(a, b SavedCharge) int { return int(b.Age - a.Age) })
		sw.Own = coarser(sw.Own, w.quota.W/savedSpans)
		sw.Others = coarser(appendSaved(nil, &w.others.ring, now, 0), w.quota.W/savedSpans)
		v.Windows = append(v.Windows, sw)
	}
	return v
}

func appendSaved(list []SavedCharge, r *ring, now Instant, later time.Duration) []SavedCharge {
	for i := range r.len {
		if e := r.at(i); e.n > 0 {
			list = append(list, SavedCharge{Age: now.Sub(e.last()) - later, N: int(e.n)})
		}
	}
	return list
}

// coarser merges neighbours that lie within span, into the younger: charges
// may last longer for it, never shorter.
func coarser(list []SavedCharge, span time.Duration) []SavedCharge {
	merged := list[:0]
	var oldest time.Duration
	for _, c := range list {
		if n := len(merged); n > 0 && oldest-c.Age <= span {
			merged[n-1].Age, merged[n-1].N = c.Age, merged[n-1].N+c.N
			continue
		}
		oldest = c.Age
		merged = append(merged, c)
	}
	return merged
}

// Restore makes a scope of what was saved elapsed ago. Its limits and charges
// hold, but nobody knows what happened since: the first call goes alone, for
// its counts.
func Restore(now Instant, v Saved, elapsed time.Duration, start Instant, assumed []Quota) *Scope {
	elapsed = max(0, elapsed) // a clock that was set back makes nothing younger
	if len(v.Windows) == 0 {
		s := NewScope(start, assumed)
		s.Gate.restore(now, v, elapsed)
		s.breaker.restore(now, v, elapsed)
		s.halve()
		return s
	}
	s := NewScope(start, nil)
	s.restored = true
	s.Gate.restore(now, v, elapsed)
	s.breaker.restore(now, v, elapsed)
	for _, sw := range v.Windows {
		w := newWindow(Quota{sw.N, sw.W})
		restore(&w.answered, sw.Own, now.Add(-elapsed), max(now, start), w)
		restore(&w.others.ring, sw.Others, now.Add(-elapsed), max(now, start), w)
		s.windows = append(s.windows, w)
	}
	s.sort()
	s.halve()
	return s
}

// restore puts charges back in their places. None is later than most: before,
// no call goes, and rings want order. Charges beyond the window's limit change
// nothing for the next call. They are dropped, the oldest first, so that the
// sums of a damaged file stay small.
func restore(r *ring, list []SavedCharge, saved, most Instant, w *window) {
	for _, c := range list {
		n := min(c.N, w.quota.N)
		r.drop(r.n + n - w.quota.N)
		r.push(min(saved.Add(-c.Age), most), n, w.span)
	}
}

// Valid reports whether v can have come from Save.
func (v Saved) Valid() bool {
	if v.Stop < 0 || v.Stop > MaxSeconds*time.Second || int(v.Cause) >= len(kindNames) || v.Strikes < 0 || len(v.Windows) > MaxQuotas {
		return false
	}
	if v.Halved < 0 || v.Halved > MaxHalvings || v.Calm < 0 || v.Calm > EaseAfter || len(v.Violations) > MaxSavedViolations {
		return false
	}
	for i, age := range v.Violations {
		if age < 0 || age > ViolationWindow || i > 0 && age > v.Violations[i-1] {
			return false
		}
	}
	for i, w := range v.Windows {
		if w.N < 1 || w.N > MaxCount || w.W < time.Second || w.W > MaxSeconds*time.Second || w.W%time.Second != 0 {
			return false
		}
		if slices.ContainsFunc(v.Windows[:i], func(o SavedWindow) bool { return o.W == w.W }) {
			return false
		}
		for _, list := range [...][]SavedCharge{w.Own, w.Others} {
			for k, c := range list {
				if c.N < 1 || c.N > MaxCount || c.Age > w.W || c.Age < -time.Minute || k > 0 && c.Age > list[k-1].Age {
					return false
				}
			}
		}
	}
	return true
}

func (g *Gate) save(now Instant) Saved {
	left, cause := g.Cooldown(now)
	return Saved{Stop: left, Cause: cause, Strikes: min(g.strikes, 64)}
}

// Save gives what is to be restored of a stop for all keys.
func (g *Gate) Save(now Instant) Saved { return g.save(now) }

// Restore takes over a stop that was saved elapsed ago.
func (g *Gate) Restore(now Instant, v Saved, elapsed time.Duration) {
	g.restore(now, v, max(0, elapsed))
}

func (g *Gate) restore(now Instant, v Saved, elapsed time.Duration) {
	g.strikes = v.Strikes
	if left := v.Stop - elapsed; left > 0 {
		g.until, g.kind = max(g.until, now.Add(left)), v.Cause
	}
	if v.Strikes > 0 {
		g.solo = true
	}
}
