package riftrelay

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
	"riftrelay/route"
)

// whyNoKey says, key by key, why none of those that a call may go on is any
// good.
func (l *Limiter) whyNoKey(r route.Route, o *Options) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.keys.Load()
	g := l.grouping.of(r, o)
	var keys []*held
	pin := -1
	if o.Key.Name != "" {
		pin = list.named(o.Key.Name)
	}
	switch {
	case o.own != nil:
		keys = []*held{o.own.held}
	case o.choice != nil && o.choice.only != nil:
		if list.place(o.choice.only.id) < 0 {
			return "key " + o.choice.only.Name + " is no longer in use"
		}
		keys = []*held{o.choice.only}
	case pin < 0 && o.Key.Name != "":
		return fmt.Sprintf("key %s is no longer in use", o.Key.Name)
	case pin >= 0:
		keys = list.places[pin : pin+1]
	default:
		keys = list.groups[g]
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
		if health := l.machine.KeyHealth(h.id); !health.Good() {
			why = append(why, h.Name+": "+strings.Join(reasons(now, health), " and "))
		}
	}
	return strings.Join(why, "; ")
}

// maxReasons bounds what is told of one key.
const maxReasons = 8

// reasons says what speaks against a key, the latest last: "401 Unknown apikey
// from match-v5 on europe 12 s ago", "disabled 3 min ago".
func reasons(now limit.Instant, h sched.KeyHealth) []string {
	var said []string
	denials := h.Reasons
	if n := len(denials) - maxReasons; n > 0 {
		said, denials = append(said, fmt.Sprintf("%d more", n)), denials[n:]
	}
	for _, d := range denials {
		what := fmt.Sprint(d.Status)
		switch d.Status {
		case http.StatusUnauthorized:
			what += " Unknown apikey"
		case http.StatusBadRequest:
			what += " unknown apikey"
		}
		said = append(said, fmt.Sprintf("%s from %s on %s %s", what, d.API, d.Host, ago(now.Sub(d.At))))
	}
	if h.Disabled {
		said = append(said, "disabled "+ago(now.Sub(h.Since)))
	}
	return said
}

// apisOf returns what names the API of a method: that of a method which the table
// doesn't list is its own.
func apisOf(t *route.Table) func(method string) string {
	names := map[string]string{}
	for _, m := range t.Methods() {
		names[m.String()] = m.Service
	}
	return func(method string) string {
		if name := names[method]; name != "" {
			return name
		}
		return method
	}
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
	keys := l.inUse()
	states := make([]KeyState, len(keys))
	for place, h := range keys {
		health := l.machine.KeyHealth(h.id)
		s := KeyState{Name: h.Name, Usable: health.Good(), State: KeyUsable, Reasons: reasons(now, health)}
		if place >= len(l.groups) {
			s.PerCall = true
		} else if g := l.groups[place]; g > 0 {
			s.Group = l.grouping.names[g-1]
		}
		switch {
		case health.Disabled:
			s.State = KeyDisabled
		case health.Suspect:
			s.State = KeySuspect
			if health.Probe < limit.Never {
				s.NextProbe = max(0, health.Probe.Sub(now))
			}
		}
		states[place] = s
	}
	return states
}

// DisableKey keeps all calls off the key of that name until EnableKey: also
// probes, calls pinned to it, and calls of players whose ids belong to it,
// which are refused with ErrNoKey. What waits for it alone is refused, what has
// been admitted but not been sent is admitted anew (see Permit.Valid), what is
// under way on it ends as it would have. Disabling twice does no harm.
//
// It is the key that is disabled, not its name: it stays so over SetKeys, also
// under another name, and over SaveState and LoadState, but a new key under the
// old name is not. The error matches ErrUnknownKey.
func (l *Limiter) DisableKey(name string) error {
	return l.operate(name, func(now limit.Instant, id int) { l.machine.Disable(now, id, now) })
}

// EnableKey takes a disabled key back, as it was: a suspect one is still
// suspect. To enable one that isn't disabled does no harm. The error matches
// ErrUnknownKey.
func (l *Limiter) EnableKey(name string) error {
	return l.operate(name, l.machine.Enable)
}

// RecheckKey has the next call tried on a suspect key, instead of after the
// rest of its wait, and the methods that a key was refused tried on it again.
// A key that is well, or disabled, stays so. The error matches ErrUnknownKey.
func (l *Limiter) RecheckKey(name string) error {
	return l.operate(name, l.machine.Recheck)
}

func (l *Limiter) operate(name string, do func(now limit.Instant, id int)) error {
	l.mu.Lock()
	defer l.unlock()
	places := l.inUse()
	for _, h := range places {
		if h.Name != name {
			continue
		}
		now := l.now()
		do(now, h.id)
		if l.cluster != nil {
			l.cluster.nudge()
		}
		l.poll(now)
		return nil
	}
	names := make([]string, len(places))
	for i, h := range places {
		names[i] = h.Name
	}
	// What was asked for is not repeated: it may be a key, by mistake.
	return fmt.Errorf("riftrelay: %w: no key in use is called so; allowed: %s", ErrUnknownKey, cmp.Or(strings.Join(names, ", "), "none, there are no keys"))
}
