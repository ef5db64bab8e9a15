package riftrelay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"riftrelay/internal/sched"
)

// OpenPermit is a Permit that has not ended yet: a call under way, or one that
// a loop has forgotten.
type OpenPermit struct {
	Host   string
	Method string        // as route.Method.String
	Key    string        // name; empty without a key (RSO)
	For    time.Duration // since its admission
	Sent   bool          // Permit.Sent was called
}

// String says it in a line: "euw1:/lol/status/v4/platform-data on main, for
// 2m0s, not sent".
func (p OpenPermit) String() string {
	sent := "not sent"
	if p.Sent {
		sent = "sent"
	}
	return fmt.Sprintf("%s:%s on %s, for %v, %s", p.Host, p.Method, cmp.Or(p.Key, "no key"), p.For.Round(time.Millisecond), sent)
}

// OpenPermits lists the permits that have ended by neither Observe nor Release,
// the oldest first. A test of a loop of your own should find none at its end: a
// forgotten permit holds its place in every window for ever.
func (l *Limiter) OpenPermits() []OpenPermit {
	l.mu.Lock()
	now, open := l.now(), l.machine.Permits()
	list := make([]OpenPermit, len(open))
	slices.SortFunc(open, func(a, b sched.Open) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Method, b.Method))
	})
	for i, p := range open {
		list[i] = OpenPermit{Host: p.Host, Method: p.Method, For: now.Sub(p.Since), Sent: p.Sent}
		if p.Key >= 0 {
			list[i].Key = l.held[p.Key].Name
		}
	}
	l.mu.Unlock()
	return list
}
