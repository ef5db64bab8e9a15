package riotsim

import "time"

// WindowKind says where the windows of a limit lie in time.
type WindowKind uint8

const (
	// Fixed windows open when the first counted request arrives and last W; the next request after
	// that opens a new one (R1). This is what Riot does, and the zero value.
	Fixed WindowKind = iota
	// Sliding is the strictest reading of a limit: every moment t looks back over (t−W, t].
	//
	// The count in the header is everything that arrived in there, refused calls included (R2), so
	// it can stand above the limit. Refused calls take no room, though: a call is refused when N
	// calls that found room arrived within the last W. If they did, a hammering client would never
	// be served again, and R2 says that a rejection doesn't prolong the wait.
	Sliding
	// Aligned windows start at whole multiples of W since 1970 (UTC), whatever arrives.
	Aligned
)

// String returns "fixed", "sliding" or "aligned".
func (k WindowKind) String() string {
	return [...]string{"fixed", "sliding", "aligned"}[min(k, Aligned)]
}

// window is one N:S entry of a scope. Times are nanoseconds since 1970; they never decrease.
// It is owned by the scope it is in, and by Edge.mu in the end.
type window struct {
	Limit
	kind  WindowKind
	watch bool // keep seen although the kind doesn't need it, to measure worst

	open  bool
	start int64
	count int // what the header says

	seen ring // arrivals in (now−W, now]
	took ring // those of seen that found room; Sliding only

	counted  int  // arrivals
	accepted int  // calls that passed every limit
	full     int  // arrivals that found this window full
	overfull bool // the latest arrival found it full
	peak     int
	worst    int
	worstAt  int64

	since int64 // when the limit N began to hold; the first arrival at the earliest
	most  int   // what earlier limits of this window allowed until since
	even  float64
}

// raise counts an arrival and then checks it (R2: the counter moves first, and moves on while
// rejecting). It reports whether the window was full.
func (w *window) raise(now int64) (full bool) {
	w.roll(now)
	if w.counted == 0 && w.since == 0 {
		w.since = now
	}
	w.counted++
	if w.kind == Sliding || w.watch {
		w.seen.push(now)
		if w.seen.len() > w.worst {
			w.worst, w.worstAt = w.seen.len(), w.seen.at(0)
		}
	}
	if w.kind == Sliding {
		w.count = w.seen.len()
		if full = w.took.len() >= w.N; !full {
			w.took.push(now)
		}
	} else {
		w.count++
		full = w.count > w.N
	}
	w.peak = max(w.peak, w.count)
	if w.overfull = full; full {
		w.full++
	}
	return full
}

// roll moves the window to now without counting anything.
func (w *window) roll(now int64) {
	per := int64(w.Per)
	w.seen.drop(now - per)
	w.took.drop(now - per)
	switch w.kind {
	case Fixed:
		// R1: [start, start+W); a rejection never moves its end (R2).
		if !w.open || now-w.start >= per {
			w.open, w.start, w.count = true, now, 0
		}
	case Aligned:
		if start := now - ((now%per)+per)%per; !w.open || start != w.start {
			w.open, w.start, w.count = true, start, 0
		}
	case Sliding:
		w.count = w.seen.len()
	}
}

// opened returns the start of the window, and of a sliding one its oldest call.
func (w *window) opened() int64 {
	if w.kind == Sliding {
		return w.seen.at(0)
	}
	return w.start
}

// frees returns how long after now the window, when full, has room again.
func (w *window) frees(now int64) time.Duration {
	if w.kind != Sliding {
		return time.Duration(w.start + int64(w.Per) - now)
	}
	if over := w.took.len() - w.N; over >= 0 {
		return time.Duration(w.took.at(over) + int64(w.Per) - now)
	}
	return 0
}

// change sets a new N at now: what was counted stays counted (R6).
func (w *window) change(n int, now int64) {
	if w.since != 0 {
		w.most, w.even = w.mostBy(now), w.evenBy(now)
		w.since = now
	}
	w.N = n
}

// mostBy returns the most calls this window could have accepted from its first arrival until now:
// exact while its limit doesn't change, an upper bound after a change.
func (w *window) mostBy(now int64) int {
	if w.since == 0 || now < w.since {
		return w.most
	}
	per := int64(w.Per)
	if w.kind == Aligned {
		return w.most + w.N*int(now/per-w.since/per+1)
	}
	return w.most + w.N*int((now-w.since)/per+1)
}

// evenBy returns N/W × time since the first arrival, across changes of N.
func (w *window) evenBy(now int64) float64 {
	if w.since == 0 || now < w.since {
		return w.even
	}
	return w.even + float64(w.N)*float64(now-w.since)/float64(w.Per)
}

// ring is a queue of times that costs O(1) per push and per dropped time, whatever the limit.
type ring struct {
	buf  []int64 // length is zero or a power of two
	head int
	n    int
}

func (r *ring) len() int { return r.n }

func (r *ring) at(i int) int64 { return r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring) push(t int64) {
	if r.n == len(r.buf) {
		grown := make([]int64, max(16, 2*r.n))
		for i := range r.n {
			grown[i] = r.at(i)
		}
		r.buf, r.head = grown, 0
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = t
	r.n++
}

// drop forgets all times ≤ until.
func (r *ring) drop(until int64) {
	for r.n > 0 && r.at(0) <= until {
		r.head = (r.head + 1) & (len(r.buf) - 1)
		r.n--
	}
}
