package riftrelay

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"riftrelay/admit"
	"riftrelay/limit"
	"riftrelay/route"
)

// held is a key and the id under which the machine knows it. It never changes:
// a permit holds on to it, whatever becomes of the list.
type held struct {
	Key
	id int
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

// errTooManyKeys is the end of what is remembered of removed keys.
var errTooManyKeys = errors.New("riftrelay: too many keys were replaced while their calls still count; allowed: 4,096 at a time, try again in 10 minutes")

// SetKeys replaces the keys, in the order that pins refer to. A key that stays,
// be it under another name or in another place, keeps all that is known of it.
// One that is new, also in the place of another, starts afresh. Nothing that
// waits is dropped: calls pinned to a place go on with the key that is there
// now, and are rejected only where there is none any more. Permits of removed
// keys stay valid.
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
	defer l.mu.Unlock()
	now := l.now()
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
					l.machine.SetKeys(now, l.ids, l.groups)
					return errTooManyKeys
				}
			} else {
				back = append(back, id)
			}
			h := &held{k, id}
			if id < len(byID) {
				byID[id] = h
			} else {
				byID = append(byID, h)
			}
			ids[i], groups[i] = id, l.grouping.ofKey(k.Name)
		}
	}
	for i, id := range ids {
		list.places = append(list.places, byID[id])
		list.groups[groups[i]] = append(list.groups[groups[i]], byID[id])
	}
	l.held, l.ids, l.groups = byID, ids, groups
	l.keys.Store(list)
	l.machine.SetKeys(now, ids, groups)
	return nil
}

// namesByID names the keys in use, by their ids; those of others are empty.
// l.mu is held.
func (l *Limiter) namesByID() []string {
	names := make([]string, len(l.held))
	for _, h := range l.keys.Load().places {
		names[h.id] = h.Name
	}
	return names
}

// verdict tells what the head of an answer says of the key that the call went
// on (R18). A gateway's page is about that one call.
func verdict(status int, appLimit string, h http.Header) admit.Verdict {
	switch {
	case status == http.StatusOK && appLimit != "":
		return admit.Accepted
	case status == http.StatusUnauthorized && isJSON(h):
		return admit.Unknown
	case status == http.StatusForbidden && isJSON(h):
		return admit.Forbidden
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusBadRequest:
		return admit.Unsaid
	case appLimit != "": // R3: none of these without a good key
		return admit.Accepted
	case (status/100 == 2 || status == http.StatusNotFound) && isJSON(h):
		return admit.Accepted
	}
	return admit.Unsaid
}

func isJSON(h http.Header) bool {
	kind, _, _ := strings.Cut(first(h, "Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/json")
}

// expelled is told by the machine of a waiter that no key is left for. l.mu is
// held.
func (l *Limiter) expelled(w *admit.Waiter, why admit.Refusal) {
	w.Data.(*waiter).done <- outcome{refusal: why}
}

// whyNoKey says, key by key, why none of those that a call may go on is any
// good.
func (l *Limiter) whyNoKey(r route.Route, o *Options) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.keys.Load()
	g := l.grouping.of(r, o)
	keys := list.groups[g]
	switch pin := int(o.Pin) - 1; {
	case o.choice != nil && o.choice.only != nil:
		if list.place(o.choice.only.id) < 0 {
			return "key " + o.choice.only.Name + " is in use no more"
		}
		keys = []*held{o.choice.only}
	case pin >= len(list.places):
		return fmt.Sprintf("key %d is in use no more", pin)
	case pin >= 0:
		keys = list.places[pin : pin+1]
	}
	if len(keys) == 0 {
		if g > 0 {
			return "no key of group " + l.grouping.names[g-1] + " is configured"
		}
		return "no key is configured"
	}
	var why []string
	now := l.now()
	for _, h := range keys {
		if health := l.machine.KeyHealth(h.id); health.Suspect {
			why = append(why, h.Name+": "+strings.Join(reasons(now, health), " and "))
		}
	}
	return strings.Join(why, "; ")
}

// reasons says what speaks against a key, the latest last: "401 Unknown apikey
// 12 s ago".
func reasons(now limit.Instant, h admit.KeyHealth) []string {
	var said []string
	for _, d := range h.Reasons {
		var what string
		switch d.Status {
		case http.StatusUnauthorized:
			what = "401 Unknown apikey"
		case http.StatusForbidden:
			what = "403 on " + d.Method
		default:
			what = fmt.Sprint(d.Status) + " unknown apikey"
		}
		said = append(said, what+" "+ago(now.Sub(d.At)))
	}
	return said
}

func ago(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h ago", int(d.Hours()))
}

// keyStates describes the keys in use. l.mu is held.
func (l *Limiter) keyStates(now limit.Instant) []KeyState {
	states := make([]KeyState, len(l.ids))
	for place, h := range l.keys.Load().places {
		health := l.machine.KeyHealth(h.id)
		s := KeyState{Name: h.Name, Usable: !health.Suspect, State: KeyUsable, Reasons: reasons(now, health)}
		if g := l.groups[place]; g > 0 {
			s.Group = l.grouping.names[g-1]
		}
		if health.Suspect {
			s.State = KeySuspect
			if health.Probe < limit.Never {
				s.NextProbe = max(0, health.Probe.Sub(now))
			}
		}
		states[place] = s
	}
	return states
}
