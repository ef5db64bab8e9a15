package window

import (
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// savedSpans bounds the entries that a window is saved in: more of them are
// rounded up to the next.
const savedSpans = 64

// Save returns what is to be restored after a restart.
func (s *Scope) Save(now limit.Instant, j time.Duration) limit.Saved {
	v := s.Gate.save(now)
	s.breaker.save(now, &v)
	if !s.known && !s.restored {
		return v // what was assumed is no knowledge
	}
	for _, w := range s.windows {
		kept := w.expire(now, j)
		sw := limit.SavedWindow{N: w.quota.N, W: w.quota.W}
		sw.Own = appendSaved(sw.Own, &w.answered, now, 0)
		sw.Own = appendSaved(sw.Own, &w.sent, now, kept)
		if w.pending > 0 {
			sw.Own = append(sw.Own, limit.SavedCharge{Age: -j, N: w.pending}) // sent in this moment, as far as we know
		}
		slices.SortStableFunc(sw.Own, func(a, b limit.SavedCharge) int { return int(b.Age - a.Age) })
		sw.Own = coarser(sw.Own, w.quota.W/savedSpans)
		sw.Others = coarser(appendSaved(nil, &w.others.ring, now, 0), w.quota.W/savedSpans)
		v.Windows = append(v.Windows, sw)
	}
	return v
}

func appendSaved(list []limit.SavedCharge, r *ring, now limit.Instant, later time.Duration) []limit.SavedCharge {
	for i := range r.len {
		if e := r.at(i); e.n > 0 {
			list = append(list, limit.SavedCharge{Age: now.Sub(e.last()) - later, N: int(e.n)})
		}
	}
	return list
}

// coarser merges neighbours that lie within span, into the younger: charges
// may last longer for it, never shorter.
func coarser(list []limit.SavedCharge, span time.Duration) []limit.SavedCharge {
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
func Restore(now limit.Instant, v limit.Saved, elapsed time.Duration, start limit.Instant, assumed []limit.Quota) *Scope {
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
		w := newWindow(limit.Quota{N: sw.N, W: sw.W})
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
func restore(r *ring, list []limit.SavedCharge, saved, most limit.Instant, w *window) {
	for _, c := range list {
		n := min(c.N, w.quota.N)
		r.drop(r.n + n - w.quota.N)
		r.push(min(saved.Add(-c.Age), most), n, w.span)
	}
}

func (g *Gate) save(now limit.Instant) limit.Saved {
	left, cause := g.Cooldown(now)
	return limit.Saved{Stop: left, Cause: cause, Strikes: min(g.strikes, 64)}
}

// Save returns what is to be restored of a stop for all keys.
func (g *Gate) Save(now limit.Instant) limit.Saved { return g.save(now) }

// Restore takes over a stop that was saved elapsed ago.
func (g *Gate) Restore(now limit.Instant, v limit.Saved, elapsed time.Duration) {
	g.restore(now, v, max(0, elapsed))
}

func (g *Gate) restore(now limit.Instant, v limit.Saved, elapsed time.Duration) {
	g.strikes = v.Strikes
	if left := v.Stop - elapsed; left > 0 {
		g.until, g.kind = max(g.until, now.Add(left)), v.Cause
	}
	if v.Strikes > 0 {
		g.solo = true
	}
}
