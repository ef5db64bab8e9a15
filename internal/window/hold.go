package window

import (
	"time"

	"riftrelay/internal/limit"
)

// Hold is what one call holds: a charge on every window of its scopes, and the
// turn of each gate that let it go alone. It is used for one call at a time:
// Take, then Sent once the call is written, then Settle or Refund, after which
// it may serve the next call. The zero value holds nothing.
type Hold struct {
	charges []charge
	gates   []*Gate // those at which this call goes alone
	scopes  []*Scope
	service *Gate
	taken   limit.Instant
	sent    bool
	sentAt  limit.Instant
	latest  limit.Instant // by which a sent call has arrived: J after the sending
	leased  Lease         // that the call goes on; zero where no Store judges
	budget  uint16        // of the call; 0 = none
}

type charge struct {
	w    *window
	at   limit.Instant // key of the charge in w.sent
	seq  int           // its place among the own calls sent
	base int           // own calls known of at sending, less w.sentTotal then: see known
}

// known counts, when the answer to the call comes, the own calls that Riot may
// have counted together with it: own charges unexpired when it was sent, and
// own calls sent since. What Riot counts beyond them are calls of others. It
// holds only if every call is reported as sent, or none.
func (c charge) known() int { return c.base + c.w.sentTotal }

// Take charges every window of the scopes for a call admitted at now, and the
// turn at every gate that is passed one by one. Next must have agreed. Nil
// scopes are skipped.
func (h *Hold) Take(now limit.Instant, p Policy, service *Gate, scopes ...*Scope) {
	h.charges, h.gates, h.scopes, h.sent, h.leased = h.charges[:0], h.gates[:0], h.scopes[:0], false, Lease{}
	h.service, h.taken = service, now
	h.budget = p.Budget
	if service != nil {
		h.pass(now, service)
	}
	var held limit.Instant
	for _, s := range scopes {
		if s != nil {
			for _, w := range s.windows {
				held = max(held, w.held)
			}
		}
	}
	for _, s := range scopes {
		if s == nil {
			continue
		}
		h.pass(now, &s.Gate)
		h.scopes = append(h.scopes, s)
		s.inFlight++
		if s.breaker.level > 0 && s.breaker.recovered(now) {
			s.halve()
		}
		if l := s.leasing; l != nil && l.needed && !l.alone {
			h.leased, _ = l.take(now, p.Unpaced)
		}
		for _, w := range s.windows {
			w.pending++
			w.rare.took(now)
			if p.High {
				w.tookHigh(now)
			}
			w.granted(now, w.rate(now), p.Margin, held)
			h.charges = append(h.charges, charge{w: w})
		}
		if s.extra(p.Budget) {
			h.takeExtra(now, s, p, held)
		}
	}
}

func (h *Hold) pass(now limit.Instant, g *Gate) {
	if g.enter(now, h) {
		h.gates = append(h.gates, g)
	}
}

// Taken returns when the call was admitted.
func (h *Hold) Taken() limit.Instant { return h.taken }

// Stopped reports whether a 429 has stopped one of the call's scopes since it
// was admitted, so that it must not be sent.
func (h *Hold) Stopped(now limit.Instant) bool {
	if h.service != nil && h.service.stoppedSince(h.taken, now) {
		return true
	}
	for _, s := range h.scopes {
		if s.stoppedSince(h.taken, now) {
			return true
		}
	}
	return false
}

// Sent notes that the call was written at now: from here on its charges
// expire. Further calls change nothing.
func (h *Hold) Sent(now limit.Instant, j time.Duration) {
	if h.sent {
		return
	}
	h.sent, h.sentAt, h.latest = true, now, now.Add(j)
	for i := range h.charges {
		h.charges[i].send(now, j)
	}
}

func (c *charge) send(now limit.Instant, j time.Duration) {
	w := c.w
	w.expire(now, j)
	w.pending--
	w.sentTotal++
	c.seq = w.sentTotal
	w.sent.push(now, 1, w.span)
	c.at = now
	c.base = w.own() - w.sentTotal
}

// IsSent reports whether the call was written, and when.
func (h *Hold) IsSent() (at limit.Instant, ok bool) { return h.sentAt, h.sent }

// Settle ends a call whose answer's head came at now: Riot has counted the call
// by then. A call that was never reported as sent counts as sent now. Settle
// returns u, when the charges' time begins.
func (h *Hold) Settle(now limit.Instant, j time.Duration) (u limit.Instant) {
	h.Sent(now, j)
	for _, c := range h.charges {
		// After at + j the charge's expiry is final: u = at + j.
		if now < c.at.Add(c.w.keep(now, j)) && c.w.sent.remove(c.at) {
			c.w.answered.push(max(now, c.w.answered.latest()), 1, c.w.span)
		}
	}
	h.leave()
	return min(now, h.sentAt.Add(j))
}

// Latest returns by when a call that was sent has arrived: u, if it gets no
// answer.
func (h *Hold) Latest() limit.Instant { return h.latest }

// Abandon ends a call that was sent and got no answer: given up, timed out or
// reset, it may still be on its way, so u is the time of sending plus J.
func (h *Hold) Abandon() {
	for _, s := range h.scopes {
		// A window that nobody knows of has no charge for the call. The next
		// one's count must contain it.
		if h.sent && !s.known {
			s.until = max(s.until, h.latest)
		}
	}
	h.leave()
}

// Refund ends a call that was never written: its charges are given back. Those
// of a call that was stay (R3), until they expire.
func (h *Hold) Refund() {
	if !h.sent {
		for _, c := range h.charges {
			c.w.pending--
		}
	}
	h.leave()
}

func (h *Hold) leave() {
	for _, g := range h.gates {
		g.leave(h)
	}
	for _, s := range h.scopes {
		s.inFlight--
	}
	clear(h.charges)
	h.service = nil
	h.charges, h.gates, h.scopes = h.charges[:0], h.gates[:0], h.scopes[:0]
}

// Join charges the call for the windows of its scopes that were not there when
// it was admitted.
func (h *Hold) Join(now limit.Instant, j time.Duration) {
	for _, s := range h.scopes {
		h.join(now, j, s.windows)
		if s.extra(h.budget) {
			var ids [1]uint16
			budgets := s.charged(h.budget, ids[:0])
			s.makeCeilings(now, budgets)
			var buf [maxExtra]*window
			h.join(now, j, s.extras(now, budgets, buf[:0]))
		}
	}
}

func (h *Hold) join(now limit.Instant, j time.Duration, windows []*window) {
	for _, w := range windows {
		if h.chargeOn(w) != nil {
			continue
		}
		w.pending++
		h.charges = append(h.charges, charge{w: w})
		if h.sent {
			// Charged as sent now: never too early, and rings want order.
			h.charges[len(h.charges)-1].send(now, j)
		}
	}
}

func (h *Hold) chargeOn(w *window) *charge {
	for i := range h.charges {
		if h.charges[i].w == w {
			return &h.charges[i]
		}
	}
	return nil
}
