package window

import (
	"math"
	"time"

	"riftrelay/internal/limit"
)

// Policy is how a call wants to be admitted.
type Policy struct {
	Burst   float64       // share of each window that needs no pacing, 0 to 1
	Margin  time.Duration // J
	Unpaced bool          // skip pacing, not charges: high priority
	High    bool          // use what is kept free for high priority, see urgent
	Budget  uint16        // whose share of each window is the most that the call may use; 0 = none
	Unbound bool          // the call counts for its budget, whose share doesn't hold it back
}

// window is one limit of a scope: its charges by their time, and its pace.
type window struct {
	quota  limit.Quota
	halved int // how often, after violations: see breaker
	span   time.Duration

	pending  int  // admitted, not yet sent: without an expiry
	sent     ring // by time of sending: expire at + J + W
	answered ring // by time of the answer, own: expire at + W
	others   others
	urgent   urgent
	kept     extreme // of J

	held      limit.Instant // until when charges last held a call back, as far as was known
	sentTotal int           // own calls ever sent; see charge.known
	pace      pace
	ceilings  []ceilingOf   // of the budgets that needed one, by id
	opened    limit.Instant // when the last call with count 1 was counted, at the latest (R10); 0 when not known
	filled    limit.Instant // from when on it is told again that the window is full: see Scope.Filled

	// While the Store is away: how many own charges there may be, and from capAt
	// on. 0 as capAt is no bound.
	cap, capNext int
	capAt        limit.Instant
	rare         rare
	strangers    bool          // nobody knows how many replicas there are
	spareBy      limit.Instant // until then, no more may be sent than brings sentTotal and pending to this:
	spare        int
}

func newWindow(q limit.Quota) *window {
	return &window{quota: q, span: spanOf(q.W), kept: extreme{memory: 2 * q.W}}
}

// keep returns the margin that the charges need, which is the greatest since the
// oldest of them was sent: a way that was slow then is no quicker for being
// quick now.
func (w *window) keep(now limit.Instant, j time.Duration) time.Duration {
	w.kept.memory = max(w.kept.memory, 2*(w.quota.W+max(j, w.kept.value)))
	w.kept.add(now, j)
	return w.kept.value
}

// expire drops what has expired at now and returns the margin for the rest.
func (w *window) expire(now limit.Instant, j time.Duration) (kept time.Duration) {
	kept = w.keep(now, j)
	t := now.Add(-w.quota.W)
	w.sent.expire(t.Add(-kept))
	w.answered.expire(t)
	w.others.expire(t)
	return kept
}

func (w *window) used() int { return w.pending + w.sent.n + w.answered.n + w.others.n }

// own counts the own charges of calls that have been sent.
func (w *window) own() int { return w.sent.n + w.answered.n }

// next returns the earliest moment at which one more call may go: now when that
// is at once, Never when it depends on calls that have not been sent yet.
// underWay says whether calls of the scope are: their answers' counts are worth
// waiting for. With no event in between, no call can go before that moment.
func (w *window) next(now limit.Instant, p Policy, underWay bool) limit.Instant {
	kept := w.expire(now, p.Margin)
	at, held := w.nextWith(now, p, underWay, kept)
	if held > 0 {
		w.held = held
	}
	if at > now && kept > p.Margin {
		// The charges may need less once the present margin counts, and not before.
		least, _ := w.nextWith(now, p, underWay, p.Margin)
		at = min(at, max(w.kept.turns(), least))
	}
	return at
}

// nextWith is next for charges that are kept for a margin, and held the moment
// until when charges hold the call back.
func (w *window) nextWith(now limit.Instant, p Policy, underWay bool, kept time.Duration) (at, held limit.Instant) {
	used := w.used()
	at, burst, reserve := now, p.Burst, 0
	about := w.others.about(now, w.quota.W)
	if about {
		// A burst is blind for what others do meanwhile.
		burst = 0
		if underWay {
			reserve = w.others.reserve(now, w.n(), w.quota.W)
		}
		if until, full := w.full(now, underWay, kept); full {
			at = until
		}
	}
	free := min(w.keeps(now, p), w.n()-1-reserve)
	if over := used + reserve + free - w.n(); over >= 0 {
		at = max(at, w.leaves(over+1, free, kept))
		held = at
	}
	if now < w.spareBy && w.sentTotal+w.pending >= w.spare {
		at = max(at, w.spareBy)
		held = at
	}
	if t := w.uncapped(now, kept); t > now {
		at = max(at, t)
		held = at
	}
	if !p.Unpaced {
		at = max(at, w.paced(now, used, burst, kept))
	}
	// What holds the call back may hold no longer than this.
	if about {
		at = min(at, w.others.until(w.quota.W))
	}
	if now < w.capAt {
		at = min(at, w.capAt) // the schedule is another one then, and the burst share too
	}
	return at, held
}

// rate is how many calls a window's length is paced for.
func (w *window) rate(now limit.Instant) int {
	if n, on := w.capOf(now); on {
		return max(1, min(n, w.n()))
	}
	return w.n()
}

// paced returns when the schedule lets the next call go, or the share of the
// window that needs none has room.
func (w *window) paced(now limit.Instant, used int, burst float64, kept time.Duration) limit.Instant {
	n := w.rate(now)
	// Where the schedule is of a lower rate, a call that isn't paced replaces it by
	// one of this rate, of which nobody else is told.
	at := min(w.pace.next(now, used, n, burst), now.Add(w.quota.W/time.Duration(n)))
	if share := int(math.Ceil(burst * float64(n))); at > now && share > 0 {
		at = min(at, w.freed(used-share+1, kept))
	}
	return at
}

// granted notes a call at now, held back by charges until held, in the schedule
// for n calls; j as for pace.grant.
func (w *window) granted(now limit.Instant, n int, j time.Duration, held limit.Instant) {
	w.pace.grant(now, w.quota.W, n, j, held)
}

// lasting is a ring, and how long after their times its charges expire.
type lasting struct {
	*ring
	lasts time.Duration
}

func (w *window) rings(kept time.Duration) [3]lasting {
	return [...]lasting{{&w.sent, w.quota.W + kept}, {&w.answered, w.quota.W}, {&w.others.ring, w.quota.W}}
}

// emptied returns the moment at which all present charges that have an expiry have
// expired.
func (w *window) emptied(kept time.Duration) (at limit.Instant) {
	for _, r := range w.rings(kept) {
		for i := r.len - 1; i >= 0; i-- {
			if e := r.at(i); e.n > 0 {
				at = max(at, e.last().Add(r.lasts))
				break
			}
		}
	}
	return at
}

// freed returns the moment at which k of the present charges have expired. It
// returns Never only while calls are pending, whose charges have no expiry yet:
// their sending or their end is the event that wakes those that wait. A k beyond
// all charges counts as all of them.
func (w *window) freed(k int, kept time.Duration) limit.Instant {
	rings := w.rings(kept)
	var next [len(rings)]int
	at := limit.Instant(0)
	for k > 0 {
		best, bestAt := -1, limit.Never
		for i, x := range rings {
			if next[i] < x.len {
				if t := x.at(next[i]).last().Add(x.lasts); t < bestAt {
					best, bestAt = i, t
				}
			}
		}
		if best < 0 {
			if w.pending > 0 {
				return limit.Never
			}
			return at
		}
		k -= int(rings[best].at(next[best]).n)
		next[best]++
		at = bestAt
	}
	return at
}

// nth estimates when the k-th of further calls could go, were nobody else to
// call and none to go before from: the k-th follows the (k-N)-th by one window.
func (w *window) nth(now, from limit.Instant, k int, p Policy) limit.Instant {
	from = max(now, from)
	kept := w.expire(now, p.Margin)
	used := w.used()
	lap := w.quota.W + p.Margin
	rounds := (k - 1) / w.n()
	rest := k - rounds*w.n()
	at := from
	if need := used + rest - w.n(); need > 0 {
		t := w.freed(need, kept)
		if t == limit.Never {
			t = now.Add(lap)
		}
		at = max(at, t)
	}
	at = at.Add(times(lap, rounds))
	if p.Unpaced {
		return at
	}
	share := int(math.Ceil(p.Burst * float64(w.n())))
	free := share
	if from == now { // else who knows how many will have expired by then
		free = max(0, free-used)
	}
	if !w.pace.started {
		free = max(free, 1)
	}
	if k <= free {
		return at
	}
	t := w.quota.W / time.Duration(w.n())
	if free > 0 { // the last of the free calls, now, starts the schedule
		return max(at, from.Add(times(t, k-free)))
	}
	paced := max(from, w.pace.tat).Add(times(t, k-1))
	if rest <= share { // or once the unpaced share has room again
		paced = min(paced, max(from, w.freed(used+rest-share, p.Margin)).Add(times(lap, rounds)))
	}
	return max(at, paced)
}

// times is n·d, or the longest duration that there is.
func times(d time.Duration, n int) time.Duration {
	if d > 0 && time.Duration(n) > math.MaxInt64/d {
		return math.MaxInt64
	}
	return time.Duration(n) * d
}

// end returns when Riot's present window is over at the latest: a length after
// it opened, where that was seen, otherwise a length from now.
func (w *window) end(now limit.Instant) limit.Instant {
	if w.opened != 0 && w.opened.Add(w.quota.W) > now {
		return w.opened.Add(w.quota.W)
	}
	return now.Add(w.quota.W)
}
