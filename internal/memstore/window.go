package memstore

import (
	"slices"

	"riftrelay/internal/limit"
)

// Times in a store are whole milliseconds, and microseconds for pacing, so that
// every implementation can count in them without losing digits.
type (
	millis = int64
	micros = int64
)

// storeWindow is one limit of a scope in a store. Its charges lie in slots by
// when they expire, each slot counting until its end: a window costs what its
// activity costs.
type storeWindow struct {
	n       int
	w       millis
	born    millis // charges of permits granted before aren't in it
	tat     micros // theoretical arrival time of the next paced call; 0 before the first
	granted int    // permits ever, less those given back
	own     slots
	others  slots // of others on the same key
	storeForeign
	urgent storeUrgent

	// By prepare:
	left, spared int
	kept         int // slots that normal calls leave free
	held         millis
	burst        int // how many charges the window may hold before calls are paced
}

func newStoreWindow(q limit.Quota, born millis) *storeWindow {
	w := &storeWindow{n: q.N, w: q.W.Milliseconds(), born: born}
	w.expire(born)
	return w
}

// slots counts charges by the slot in which they expire. Slot i ends at
// i · width.
type slots struct {
	n    int   // charges in all
	head int64 // slots up to it have been emptied
	top  int64 // no charge lies after it
	at   map[int64]int
}

// width returns the width of a window's slots: max(1 ms, w/512).
func (w *storeWindow) width() millis { return max(1, w.w/512) }

// slot returns the slot of a charge that expires at t: a slot that ends after t.
// Times are whole milliseconds, so one that ended at t could end too early.
func (w *storeWindow) slot(t millis) int64 { return t/w.width() + 1 }

func (s *slots) add(i int64, n int) {
	if i <= s.head || n <= 0 {
		return
	}
	if s.at == nil {
		s.at = map[int64]int{}
	}
	s.at[i] += n
	s.n += n
	s.top = max(s.top, i)
}

// take removes one charge from slot i, and reports whether there was one.
func (s *slots) take(i int64) bool {
	if i <= s.head || s.at[i] == 0 {
		return false
	}
	s.n--
	if s.at[i]--; s.at[i] == 0 {
		delete(s.at, i)
	}
	return true
}

// pop removes the n charges that expire last, or all.
func (s *slots) pop(n int) {
	for i := s.top; n > 0 && s.n > 0 && i > s.head; i-- {
		k := min(n, s.at[i])
		if k == 0 {
			continue
		}
		n, s.n = n-k, s.n-k
		if s.at[i] -= k; s.at[i] == 0 {
			delete(s.at, i)
		}
	}
}

// expire empties the slots up to i.
func (s *slots) expire(i int64) {
	for j := s.head + 1; j <= min(i, s.top) && s.n > 0; j++ {
		s.n -= s.at[j]
		delete(s.at, j)
	}
	s.head = max(s.head, i)
}

func (w *storeWindow) expire(now millis) {
	w.own.expire(now / w.width())
	w.others.expire(now / w.width())
}

// limit returns how many calls the window is used for.
func (w *storeWindow) limit(level int) int { return max(1, w.n>>level) }

// free returns how many more charges fit; not above 0 when none does. See prepare.
func (w *storeWindow) free() int { return w.left - w.own.n }

// freed returns when n charges fit that don't now.
func (w *storeWindow) freed(now millis, n int) millis {
	t := w.spent(now, n-(w.spared-w.own.n))
	if n > w.free() {
		t = max(t, w.held)
	}
	return t
}

// spent returns when k of the present charges have expired.
func (w *storeWindow) spent(now millis, k int) millis {
	if k <= 0 {
		return now
	}
	for i := now/w.width() + 1; i <= max(w.own.top, w.others.top); i++ {
		if k -= w.own.at[i] + w.others.at[i]; k <= 0 {
			return i * w.width()
		}
	}
	return now + w.w // what is reserved goes with time
}

// step is the distance of an even schedule; not 0, however high a limit is.
func (w *storeWindow) step(level int) micros { return max(1, w.w*1000/int64(w.limit(level))) }

// next returns when the schedule lets the next call start, not before at.
func (w *storeWindow) next(at micros) micros {
	if w.tat == 0 || w.own.n < w.burst {
		return at
	}
	return max(at, w.tat)
}

// grant charges a call that starts at, and keeps the schedule: a call that is
// late by up to slack doesn't put it off.
func (w *storeWindow) grant(at micros, due millis, slack micros, level int) {
	t := w.step(level)
	if late := at - w.tat; w.tat > 0 && 0 <= late && late <= slack {
		w.tat += t
	} else {
		w.tat = at + t
	}
	w.granted++
	w.start = max(w.start, ceilMillis(at))
	w.own.add(w.slot(due+w.w), 1)
}

// done moves the charge of a permit to its true expiry, or gives it back.
func (w *storeWindow) done(now millis, d limit.Done) {
	if d.Stub.At <= w.born {
		return // the window is younger than the permit
	}
	had := w.own.take(w.slot(d.Stub.Due + w.w))
	if d.Unsent {
		if had {
			w.granted--
		}
		return
	}
	w.own.add(w.slot(now-downMillis(d.Ago)+w.w), 1)
}

// base is what count needs to know of a permit granted now.
func (w *storeWindow) base() int { return w.own.n - w.granted }

// setLimit changes the limit, and reports whether it is higher now.
func (w *storeWindow) setLimit(now millis, n int) (raised bool) {
	if n == w.n {
		return false
	}
	raised = n > w.n
	w.n = n
	// The next call need not keep a distance that is no more.
	w.tat = min(w.tat, now*1000+w.step(0))
	return raised
}

func findStoreWindow(list []*storeWindow, w millis) *storeWindow {
	if i := slices.IndexFunc(list, func(x *storeWindow) bool { return x.w == w }); i >= 0 {
		return list[i]
	}
	return nil
}
