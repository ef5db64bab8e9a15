package riftrelay

import (
	"context"
	"errors"
	"slices"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
	"riftrelay/route"
)

// maxCallKeys is how many keys of calls a Limiter knows at a time.
const maxCallKeys = 1024

// callKey is a key that calls bring along, or one of the list that they name.
type callKey struct {
	*held
	slot    int // its group of keys is grouping.size() + slot; -1 of the list's
	waiting int // calls in admission
	used    limit.Instant
	gone    bool // it is the list's now
}

// callKeys is the keys that calls have brought along. The Limiter's lock guards
// it.
type callKeys struct {
	slots   []*callKey // nil is free
	byValue map[string]*callKey
	full    limit.Instant // until when it is no use to look for room
}

// acquireOn is acquire for a call with a key of its own.
func (l *Limiter) acquireOn(ctx context.Context, key string, r route.Route, o *Options, deadline time.Time, try int) (Permit, error) {
	for {
		k, rejected := l.borrow(key)
		if rejected != nil {
			rejected.Route = r
			l.tell(ctx, AdmissionEvent{Route: r, Priority: o.Priority, Budget: l.knownBudget(o.Budget), Try: try, Reason: rejected.Reason})
			return Permit{}, rejected
		}
		with := *o
		with.own = k
		permit, err := l.admit(ctx, r, &with, deadline, try)
		moved := l.handBack(k)
		switch {
		case permit.key != nil && permit.key.Value != key: // SetKeys gave its place away
			permit.Release()
		case !moved || !errors.Is(err, ErrNoKey):
			return permit, err
		}
	}
}

// borrow finds the key of a call, and holds it until handBack.
func (l *Limiter) borrow(key string) (*callKey, *RejectedError) {
	if !validKey(key) {
		return nil, &RejectedError{Reason: ReasonInvalidKey, Detail: "the value of the call's key is not shown; allowed: 1 to 256 visible ASCII characters"}
	}
	l.mu.Lock()
	defer l.unlock()
	now := l.now()
	k := l.own.byValue[key]
	if k == nil {
		for _, h := range l.keys.Load().places {
			if h.Value == key {
				return &callKey{held: h, slot: -1}, nil
			}
		}
		if k = l.addCallKey(now, key); k == nil {
			return nil, &RejectedError{Reason: ReasonTooManyKeys, Detail: "1,024 keys of calls still count; allowed: as many at a time"}
		}
	}
	k.waiting++
	k.used = now
	return k, nil
}

// handBack reports whether the key has moved, into Config.Keys or out of them.
func (l *Limiter) handBack(k *callKey) (moved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.slot < 0 {
		return l.keys.Load().place(k.id) < 0
	}
	k.waiting--
	k.used = l.now()
	return k.gone
}

// addCallKey returns a key a slot, and a group to itself; nil when all are taken.
// l.mu is held.
func (l *Limiter) addCallKey(now limit.Instant, key string) *callKey {
	slot := l.own.free(now, l.machine)
	if slot < 0 {
		return nil
	}
	name := kid(key)
	// A key that was known before goes on where it was.
	id := slices.IndexFunc(l.held, func(h *held) bool { return h.Value == key || h.Value == "" && h.kid == name })
	if id < 0 {
		if id = l.machine.AddKey(now, nil); id < 0 {
			return nil
		}
	}
	k := &callKey{held: &held{Key{callKeyName(name), key}, id, name}, slot: slot}
	l.held = withKeyAt(slices.Clone(l.held), id, k.held) // SaveState may be reading the old ones
	if slot == len(l.own.slots) {
		l.own.slots = append(l.own.slots, nil)
	}
	if l.own.byValue == nil {
		l.own.byValue = map[string]*callKey{}
	}
	l.own.slots[slot], l.own.byValue[key] = k, k
	l.useKeys(now)
	return k
}

func callKeyName(kid string) string { return "call-" + kid }

// restoreCallKeys makes room for the keys that calls of a process before had
// brought along, of which there are only digests: who brings one along again
// goes on where it was. l.mu is held.
func (l *Limiter) restoreCallKeys(now limit.Instant, saved []savedScope, scopes []sched.SavedScope) {
	ids := map[string]int{}
	var back []int
	for i, s := range saved {
		if !s.PerCall || scopes[i].Key != unknownKey || len(s.Key) != kidLength {
			continue
		}
		id, found := ids[s.Key]
		if !found {
			if len(back) == maxCallKeys {
				continue
			}
			if id = l.machine.AddKey(now, back); id < 0 {
				break
			}
			back = append(back, id)
			ids[s.Key] = id
			l.held = withKeyAt(slices.Clone(l.held), id, &held{Key{Name: callKeyName(s.Key)}, id, s.Key})
		}
		scopes[i].Key = id
	}
	l.useKeys(now)
}

// free returns a slot for another key: that of the one used longest ago, if need
// be, on which nothing counts any longer. It is -1 without one.
func (c *callKeys) free(now limit.Instant, m *sched.Machine) int {
	if slot := slices.Index(c.slots, nil); slot >= 0 {
		return slot
	}
	if len(c.slots) < maxCallKeys {
		return len(c.slots)
	}
	if now < c.full {
		return -1
	}
	idle := slices.DeleteFunc(slices.Clone(c.slots), func(k *callKey) bool { return k.waiting > 0 })
	slices.SortFunc(idle, func(a, b *callKey) int { return int(min(max(a.used-b.used, -1), 1)) })
	for _, k := range idle {
		if !m.KeyHealth(k.id).Disabled && m.Idle(now, k.id) {
			c.drop(k)
			return k.slot
		}
	}
	c.full = now.Add(time.Second) // it is much work to find that out
	return -1
}

func (c *callKeys) drop(k *callKey) {
	k.gone = true
	c.slots[k.slot] = nil
	delete(c.byValue, k.Value)
}

// inUse lists the keys of the list, and then those that calls have brought
// along. l.mu is held.
func (l *Limiter) inUse() []*held {
	places := l.keys.Load().places
	if len(l.own.byValue) == 0 {
		return places
	}
	all := slices.Clone(places)
	for _, k := range l.own.slots {
		if k != nil {
			all = append(all, k.held)
		}
	}
	return all
}

// useKeys tells the machine which keys there are. l.mu is held.
func (l *Limiter) useKeys(now limit.Instant) {
	ids, groups := l.ids, l.groups
	if len(l.own.byValue) > 0 {
		ids, groups = slices.Clone(ids), slices.Clone(groups)
		for _, k := range l.own.slots {
			if k != nil {
				ids, groups = append(ids, k.id), append(groups, l.grouping.size()+k.slot)
			}
		}
	}
	l.machine.SetKeys(now, ids, groups)
}
