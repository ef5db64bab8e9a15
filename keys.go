package riftrelay

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
)

// held is a key and the id under which the machine knows it. It never changes:
// a permit holds on to it, whatever becomes of the list.
type held struct {
	Key
	id  int
	kid string // see kid
}

// keyList is the keys in use. It never changes: SetKeys makes another.
type keyList struct {
	places []*held   // in the order of Config.Keys
	groups [][]*held // of each group, the default one first
}

func (k *keyList) place(id int) int {
	for i, h := range k.places {
		if h.id == id {
			return i
		}
	}
	return -1
}

// named returns the place of the key of that name, or -1.
func (k *keyList) named(name string) int {
	return slices.IndexFunc(k.places, func(h *held) bool { return h.Name == name })
}

// names lists the keys of the groups from the first to before the end.
func (k *keyList) names(first, end int) string {
	var names []string
	for _, group := range k.groups[first:end] {
		for _, h := range group {
			names = append(names, h.Name)
		}
	}
	if len(names) == 0 {
		return "none, there are no keys"
	}
	return strings.Join(names, ", ")
}

// errTooManyKeys is the end of what is remembered of removed keys.
var errTooManyKeys = errors.New("riftrelay: too many keys were replaced while their calls still count; allowed: 4,096 at a time, try again in 10 minutes")

// SetKeys replaces the keys. A key that stays, even under another name or in
// another place, keeps all that is known of it.
// One that is new, also in the place of another, starts afresh. Nothing that
// waits is dropped: a call that must use a key goes on with the one that is in its
// place now, and is rejected only where there is none. Permits of removed keys
// stay valid.
//
// The error names what is wrong and what is allowed; then nothing has changed.
func (l *Limiter) SetKeys(keys []Key) error {
	keys, err := checkKeys(keys)
	if err != nil {
		return err
	}
	if err := l.grouping.check(keys); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.unlock()
	now := l.now()
	l.poll(now)
	l.gather() // by the names that the keys have had
	if err := l.setKeys(now, keys); err != nil {
		return err
	}
	l.poll(now)
	return nil
}

// setKeys is SetKeys for keys that have been checked. l.mu is held.
func (l *Limiter) setKeys(now limit.Instant, keys []Key) error {
	known := make(map[string]int, len(l.held))
	for id, h := range l.held {
		known[h.Value] = id
	}
	delete(known, "") // keys of a process before, of which only the digests are known
	byID := append([]*held(nil), l.held...)
	list := &keyList{groups: make([][]*held, l.grouping.size())}
	ids, groups := make([]int, len(keys)), make([]int, len(keys))
	var back []int // ids of keys that stay or come back, which are not to be given away
	for _, fresh := range [...]bool{false, true} {
		for i, k := range keys {
			id, found := known[k.Value]
			if found == fresh {
				continue
			}
			if fresh {
				if id = l.machine.AddKey(now, back); id < 0 {
					l.useKeys(now)
					return errTooManyKeys
				}
			} else {
				back = append(back, id)
			}
			h := &held{k, id, kid(k.Value)}
			byID = withKeyAt(byID, id, h)
			ids[i], groups[i] = id, l.grouping.ofKey(k.Name)
		}
	}
	for i, id := range ids {
		list.places = append(list.places, byID[id])
		list.groups[groups[i]] = append(list.groups[groups[i]], byID[id])
	}
	l.held, l.ids, l.groups = byID, ids, groups
	l.keys.Store(list)
	for _, k := range keys {
		if own := l.own.byValue[k.Value]; own != nil {
			l.own.drop(own)
		}
	}
	l.useKeys(now)
	return nil
}

// withKeyAt sets the key of an id in a list, which grows where it must.
func withKeyAt(byID []*held, id int, h *held) []*held {
	for id >= len(byID) {
		byID = append(byID, new(held))
	}
	byID[id] = h
	return byID
}

// namesByID names the keys in use, by their ids; those of others are empty.
// l.mu is held.
func (l *Limiter) namesByID() []string {
	names := make([]string, len(l.held))
	for _, h := range l.inUse() {
		names[h.id] = h.Name
	}
	return names
}

// verdict tells what the head of an answer says of the key that the call went
// on (R18). A gateway's page is about that one call.
func verdict(status int, appLimit string, h http.Header) sched.Verdict {
	switch {
	case status == http.StatusOK && appLimit != "":
		return sched.Accepted
	case (status == http.StatusUnauthorized || status == http.StatusForbidden) && isJSON(h):
		return sched.Refused
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusBadRequest:
		return sched.Unsaid
	case appLimit != "": // R3: none of these without a good key
		return sched.Accepted
	case (status/100 == 2 || status == http.StatusNotFound) && isJSON(h):
		return sched.Accepted
	}
	return sched.Unsaid
}

func isJSON(h http.Header) bool {
	kind, _, _ := strings.Cut(first(h, "Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/json")
}

// expelled is told by the machine of a waiter that no key is left for. l.mu is
// held.
func (l *Limiter) expelled(w *sched.Waiter, why sched.Refusal) {
	w.Data.(*waiter).done <- outcome{refusal: why}
}
