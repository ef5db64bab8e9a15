package window

import (
	"time"

	"riftrelay/internal/limit"
)

// ring counts charges by time in ascending order: a queue of entries, each for
// the charges of a short span. Charges whose times lie within one span share
// an entry and expire with its last, so a window costs what its activity
// costs, never what its limit is. The zero value is empty.
type ring struct {
	buf  []entry // length a power of two, or 0
	head int
	len  int
	n    int // charges in all entries
}

type entry struct {
	first limit.Instant
	span  uint32 // nanoseconds from first to the last charge
	n     uint32
}

func (e entry) last() limit.Instant { return e.first + limit.Instant(e.span) }

const maxSpan = 4 * time.Second // what entry.span can hold

// spanOf returns the width of the entries of a window of length w: max(1 ms,
// w/512).
func spanOf(w time.Duration) time.Duration {
	return min(max(time.Millisecond, w/512), maxSpan)
}

func (r *ring) at(i int) *entry { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

// push adds n charges at t, which is not before any earlier push.
func (r *ring) push(t limit.Instant, n int, span time.Duration) {
	if n <= 0 {
		return
	}
	r.n += n
	if r.len > 0 {
		if e := r.at(r.len - 1); t.Sub(e.first) <= span {
			e.span = max(e.span, uint32(t.Sub(e.first)))
			e.n += uint32(n)
			return
		}
	}
	if r.len == len(r.buf) {
		r.grow()
	}
	*r.at(r.len) = entry{first: t, n: uint32(n)}
	r.len++
}

// pop takes the n youngest charges out, or all.
func (r *ring) pop(n int) {
	n = min(n, r.n)
	r.n -= n
	for ; n > 0; r.len-- {
		e := r.at(r.len - 1)
		if int(e.n) > n {
			e.n -= uint32(n)
			return
		}
		n -= int(e.n)
	}
}

// drop takes the n oldest charges out, or all.
func (r *ring) drop(n int) {
	for n = min(n, r.n); n > 0; {
		e := r.at(0)
		k := min(n, int(e.n))
		e.n -= uint32(k)
		r.n -= k
		if n -= k; e.n == 0 {
			r.head = (r.head + 1) & (len(r.buf) - 1)
			r.len--
		}
	}
}

// latest returns the time of the last charge; 0 when there is none.
func (r *ring) latest() limit.Instant {
	if r.len == 0 {
		return 0
	}
	return r.at(r.len - 1).last()
}

// youngest returns the time of the last entry that still holds a charge; 0 when
// there is none.
func (r *ring) youngest() limit.Instant {
	for i := r.len - 1; i >= 0; i-- {
		if e := r.at(i); e.n > 0 {
			return e.last()
		}
	}
	return 0
}

func (r *ring) grow() {
	bigger := make([]entry, max(4, 2*len(r.buf)))
	for i := range r.len {
		bigger[i] = *r.at(i)
	}
	r.buf, r.head = bigger, 0
}

// remove takes one charge that was pushed at t out again. It reports false
// when that charge has expired already.
func (r *ring) remove(t limit.Instant) bool {
	lo, hi := 0, r.len // the last entry with first ≤ t
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if r.at(mid).first <= t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return false
	}
	e := r.at(lo - 1)
	if e.last() < t || e.n == 0 {
		return false
	}
	e.n--
	r.n--
	return true
}

// expire drops the entries whose last charge was at or before t.
func (r *ring) expire(t limit.Instant) {
	for r.len > 0 {
		e := r.at(0)
		if e.last() > t && e.n > 0 {
			return
		}
		r.n -= int(e.n)
		r.head = (r.head + 1) & (len(r.buf) - 1)
		r.len--
	}
	// An idle window keeps no memory of its busiest time.
	if len(r.buf) > 64 {
		r.buf, r.head = nil, 0
	}
}
