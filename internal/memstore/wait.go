package memstore

import (
	"time"

	"riftrelay/internal/limit"
)

// What an Ask that was not granted is told: when to ask again, and how long its
// claim lasts until then.

const storeWatch = millis(limit.MostWait / time.Millisecond)

// wait tells when to ask again for what was not granted to demand i.
func (a *asking) wait(i int) {
	left := a.seats[i].want
	if left[0]+left[1] == 0 {
		return
	}
	class := classNormal
	if left[classHigh] > 0 {
		class = classHigh
	}
	paced := class == classNormal
	at, why := a.now, limit.WaitShare
	if t, kind := a.l.app.blocked(a.now, a.horizon, a.l.app.ahead(a.now, a.app, class), paced); t > at {
		at, why = t, kind
	}
	if t, kind := a.methods[i].blocked(a.now, a.horizon, a.methods[i].ahead(a.now, a.seats[i], class), paced); t > at {
		at, why = t, kind
	}
	if at <= a.now {
		at = a.turns(i, paced)
	}
	a.reply.Waits[i] = limit.Wait{In: fromMillis(min(max(at-a.now, 1), storeWatch)), Why: why}
}

// turns returns when to ask again where there is room, which others have a claim
// to: when that ends, or the slot after theirs is near.
func (a *asking) turns(i int, paced bool) millis {
	half := (a.horizon - a.now) / 2
	at, next := a.now+storeWatch, micros(0)
	for _, s := range [...]*storeScope{a.l.app, a.methods[i]} {
		if t := s.claimed(a.now, a.app.replica); t > 0 {
			at = min(at, t)
		}
		for _, w := range s.windows {
			if paced && w.tat > 0 {
				next = max(next, w.tat+w.step(s.level))
			}
		}
	}
	return min(at, max(next/1000-half, a.now+half))
}

// blocked returns when the scope may let a call go again that it doesn't now, the
// one after those that others have a claim to, and why; now at the latest if it
// does.
func (s *storeScope) blocked(now, horizon millis, ahead int, paced bool) (millis, limit.WaitKind) {
	at, why := now, limit.WaitNone
	if s.until > horizon {
		at, why = s.until, limit.WaitStop
	}
	if s.solo && s.soloBy > at {
		at, why = s.soloBy, limit.WaitAlone
	}
	for _, w := range s.windows {
		open, freed := w.free, w.freed
		if paced {
			open, freed = w.beside, w.leaves
		}
		if open() < 1 {
			if t := freed(now, 1+ahead); t > at {
				at, why = t, limit.WaitCharges
			}
		}
		if !paced || w.own.n < w.burst {
			continue
		}
		next := max(now*1000, w.tat)
		kind := limit.WaitShare
		if next/1000 > horizon {
			kind = limit.WaitPace
		}
		if t := (next + micros(ahead)*w.step(s.level)) / 1000; t > horizon {
			// Asked when half of the horizon is used up, several are granted at a
			// time, and none is late.
			if t -= (horizon - now) / 2; t > at {
				at, why = t, kind
			}
		}
	}
	return at, why
}

// claim returns how long the replica's claim for demand i lasts: until it can have
// asked again.
func (a *asking) claim(i int) millis {
	if w := a.reply.Waits[i]; w.In > 0 {
		return a.now + w.In.Milliseconds() + (a.horizon - a.now) + claimGrace
	}
	return a.now
}

// claimGrace is how late a replica may ask again and still have its share.
const claimGrace = millis(20)
