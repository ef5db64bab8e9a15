package riftrelay

import (
	"cmp"
	"fmt"
	"strings"

	"riftrelay/internal/limit"
)

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
