package riftrelay

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/sched"
)

// LimitScope says which calls a limit of your own is for. It holds for each key
// on each host by itself, as Riot's do. The zero value is every host's
// application limit.
type LimitScope struct {
	Host   string // routing value, "euw1"; empty means every host
	Method string // as route.Method.String; empty means all calls with a key
}

// Limit adds a limit of your own, for a time: 5 calls a second on a host, say,
// while others need the key. limits are calls:seconds as in Config.DefaultAppLimit,
// and hold beside Riot's: they make calls wait, never go. They are paced as
// Riot's are. Calls under way when it is called count as sent at that moment. The
// limit ends after ttl, or with remove, which may be called more than once; with
// a ttl of 0, only so. At most 64 are in force at once, over no restart.
//
// The error names what is wrong and what is allowed.
func (l *Limiter) Limit(s LimitScope, limits string, ttl time.Duration) (remove func(), err error) {
	quotas, err := limit.ParseQuotas(limits)
	switch {
	case err != nil:
		return nil, fmt.Errorf("riftrelay: limit %q; allowed: calls:seconds, as in 5:1 or 20:1,100:120", limits)
	case ttl < 0:
		return nil, fmt.Errorf("riftrelay: limit %s for %v; allowed: a time, or 0 for no end", limits, ttl)
	case s.Method != "" && !l.hasMethod(s.Method):
		return nil, fmt.Errorf("riftrelay: limit %s for method %s; allowed: a method of the table as route.Method.String writes it, or empty", limits, strconv.Quote(s.Method))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	own := sched.OwnLimit{Host: s.Host, Method: s.Method, Quotas: quotas, Until: limit.Never}
	if ttl > 0 {
		own.Until = now.Add(ttl)
	}
	id := l.machine.Limit(now, own)
	if id < 0 {
		return nil, errors.New("riftrelay: too many limits of your own; allowed: 64 at once")
	}
	l.poll(now) // has the timer set for the end
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		now := l.now()
		l.machine.Unlimit(now, id)
		l.poll(now)
	}, nil
}

func (l *Limiter) hasMethod(name string) bool {
	for _, m := range l.cfg.Table.Methods() {
		if m.String() == name {
			return true
		}
	}
	return false
}
