package riftrelay

import (
	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
)

// How keys are travels with beats: what one replica finds out of a key, and what
// an operator decides, is told to the store, and the others go along. Of each
// trait the last word counts.

// trait is one thing that may be the matter with a key.
type trait struct {
	kid string
	of  limit.KeyTrait
}

// newsOfKeys gives what is otherwise with the keys than the store was told. A
// store that has not been heard yet is told nothing: it may know better than
// what this replica has kept over a restart. l.mu is held.
func (c *cluster) newsOfKeys(now limit.Instant) (news []limit.KeyHealth) {
	if !c.met {
		return nil
	}
	for _, h := range c.l.inUse() {
		health := c.l.machine.KeyHealth(h.id)
		for _, of := range [...]limit.KeyTrait{limit.KeySuspect, limit.KeyDisabled} {
			is, since := traitOf(health, of, now)
			if is != c.told[trait{h.kid, of}] {
				news = append(news, limit.KeyHealth{Key: h.kid, Of: of, Is: is, For: max(0, now.Sub(since))})
			}
		}
	}
	return news
}

func traitOf(h sched.KeyHealth, of limit.KeyTrait, now limit.Instant) (is bool, since limit.Instant) {
	since = now
	if of == limit.KeyDisabled {
		if h.Disabled {
			since = h.Since
		}
		return h.Disabled, since
	}
	if n := len(h.Reasons); h.Suspect && n > 0 {
		since = h.Reasons[n-1].At
	}
	return h.Suspect, since
}

// heardOfKeys takes over what the store says of the keys after it was told the
// news. l.mu is held.
func (c *cluster) heardOfKeys(now limit.Instant, news, keys []limit.KeyHealth) {
	c.met = true
	for _, k := range news {
		c.told[trait{k.Key, k.Of}] = k.Is
	}
	heard := map[trait]bool{}
	for _, k := range keys {
		heard[trait{k.Key, k.Of}] = true
		c.adoptKey(now, k)
	}
	for t := range c.told {
		if !heard[t] {
			delete(c.told, t) // the store has forgotten it: it is told again
		}
	}
}

// adoptKey goes along with what the store says of a key, unless there are news
// that it was not told yet.
func (c *cluster) adoptKey(now limit.Instant, k limit.KeyHealth) {
	t := trait{k.Key, k.Of}
	told, known := c.told[t]
	if known && told == k.Is {
		return
	}
	id, found := c.l.idOf(k.Key)
	if !found || id < 0 {
		return
	}
	m := c.l.machine
	if is, _ := traitOf(m.KeyHealth(id), k.Of, now); known && is != told {
		return
	}
	switch {
	case k.Of == limit.KeySuspect:
		m.Suspected(now, id, k.Is)
	case k.Is:
		m.Disable(now, id, now.Add(-k.For))
	default:
		m.Enable(now, id)
	}
	c.told[t] = k.Is
}

// overrules reports whether the store has said already whether the key is
// disabled, which is of later than what was saved. l.mu is held.
func (c *cluster) overrules(kid string) bool {
	if c == nil {
		return false
	}
	_, known := c.told[trait{kid, limit.KeyDisabled}]
	return known
}
