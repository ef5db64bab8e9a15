package limittest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// Model is a judge that can be seen to be right: all charges in a list, and a
// loop. It knows limits, charges, stops and calls that go alone; of pacing and
// shares it knows nothing, so it allows whatever they may hold back. All times
// are on one clock.
type Model struct {
	Margin time.Duration // J
	scopes map[string]*modelScope
	calls  []*Call
}

// Call is a permit and what became of it.
type Call struct {
	limit.Grant
	Granted time.Duration
	Start   time.Duration
	Sent    time.Duration // 0: not yet
	end     time.Duration // when its charge begins to expire, at the latest by what is known
	unsent  bool
}

type modelScope struct {
	quotas []limit.Quota
	until  time.Duration // end of the stop
	since  time.Duration // of the last stop
	solo   bool
	alone  *Call         // that went alone, if its outcome is waited for
	urgent time.Duration // when the latest call of high priority was granted
}

// NewModel makes a model that knows no scope.
func NewModel(margin time.Duration) *Model {
	return &Model{Margin: margin, scopes: map[string]*modelScope{}}
}

// Limit sets the limits of a method, or with an empty one of the application.
func (m *Model) Limit(method string, quotas []limit.Quota) {
	if m.scopes[method] == nil {
		m.scopes[method] = new(modelScope)
	}
	m.scopes[method].quotas = slices.Clone(quotas)
}

// Stop stops a scope for d.
func (m *Model) Stop(now time.Duration, method string, d time.Duration) {
	s := m.scopes[method]
	s.until, s.since, s.solo, s.alone = max(s.until, now+d), now, true, nil
}

// Grant notes a permit of a store's and returns why it should not have been.
func (m *Model) Grant(now time.Duration, g limit.Grant) (*Call, error) {
	c := &Call{Grant: g, Granted: now, Start: now + g.Start}
	c.end = c.Start + limit.SendBy + m.Margin
	var problem error
	for name, s := range m.of(g.Stub.Method) {
		for _, q := range s.quotas {
			if n := m.charged(name, q.W, c.Start, 0); n >= q.N {
				problem = errors.Join(problem, fmt.Errorf("%d calls in %v of scope %q already", n, q, name))
			}
		}
		if c.Start < s.until {
			problem = errors.Join(problem, fmt.Errorf("scope %q is stopped until %v, the call starts at %v", name, s.until, c.Start))
		}
		if s.solo {
			if s.alone != nil && now < s.alone.Start+patience {
				problem = errors.Join(problem, fmt.Errorf("scope %q waits for the call that started at %v", name, s.alone.Start))
			}
			s.alone = c
		}
	}
	m.calls = append(m.calls, c)
	return c, problem
}

// patience is how long a call that went alone is waited for.
const patience = limit.SendBy + 500*time.Millisecond

// of returns the scopes of a call of a method, by name.
func (m *Model) of(method string) map[string]*modelScope {
	return map[string]*modelScope{"": m.scopes[""], method: m.scopes[method]}
}

// charged counts the calls of a scope that count in its window of length w at a
// time, or did so up to late before.
func (m *Model) charged(method string, w, at, late time.Duration) (n int) {
	for _, c := range m.calls {
		if (method == "" || c.Stub.Method == method) && !c.unsent && at < c.end+w+late {
			n++
		}
	}
	return n
}

// Room returns how many calls of a method may certainly start now, with a store's
// slots and milliseconds allowed for.
func (m *Model) Room(now time.Duration, method string) int {
	room := limit.MostWanted
	for name, s := range m.of(method) {
		if now < s.until+rounding || s.solo {
			return 0
		}
		for _, q := range s.quotas {
			room = min(room, q.N-m.charged(name, q.W, now, slotOf(q.W)+rounding))
		}
	}
	return max(0, room)
}

// urgent notes that calls of high priority were granted.
func (m *Model) urgent(now time.Duration, method string) {
	for _, s := range m.of(method) {
		s.urgent = now
	}
}

// kept returns how many slots normal calls may leave free for those of high
// priority: two in a hundred of a window, for two windows after the latest one.
func (m *Model) kept(now time.Duration, method string) (most int) {
	for _, s := range m.of(method) {
		for _, q := range s.quotas {
			if s.urgent > 0 && now < s.urgent+2*q.W {
				most = max(most, q.N/50)
			}
		}
	}
	return most
}

// rounding is by how much a store's whole milliseconds may differ from the time:
// that of a call's counting, and that of the question.
const rounding = 2 * time.Millisecond

// slotOf returns the width of the slots of a window.
func slotOf(w time.Duration) time.Duration {
	return max(time.Millisecond, (w / 512).Truncate(time.Millisecond))
}

// Next returns when the next charge ends after now; now when none does.
func (m *Model) Next(now time.Duration) time.Duration {
	first := time.Duration(0)
	for _, c := range m.calls {
		for _, s := range m.of(c.Stub.Method) {
			for _, q := range s.quotas {
				if at := c.end + q.W; !c.unsent && at > now && (first == 0 || at < first) {
					first = at
				}
			}
		}
	}
	return max(now, first)
}

// Done notes what is reported of a call, which was answered or given up, and
// returns the report.
func (m *Model) Done(now time.Duration, c *Call, answered bool) limit.Done {
	if c.Sent == 0 {
		c.unsent = true
		for _, s := range m.of(c.Stub.Method) {
			if s.alone != nil && c.Granted >= s.since-time.Millisecond {
				s.alone = nil
			}
		}
		return limit.Done{Stub: c.Stub, Unsent: true}
	}
	if c.end = c.Sent + m.Margin; answered {
		c.end = min(now, c.end)
	}
	return limit.Done{Stub: c.Stub, Ago: now - c.end}
}

// Answered notes what the answer to a call tells of a scope: that it ends the
// turn of one that goes alone and, if it passed, that others may follow.
func (m *Model) Answered(method string, c *Call, passed bool) {
	if s := m.scopes[method]; c.Sent >= s.since {
		s.alone = nil
		s.solo = s.solo && !passed
	}
}

// forget drops the calls that count no more.
func (m *Model) forget(now time.Duration) {
	longest := time.Duration(0)
	for _, s := range m.scopes {
		for _, q := range s.quotas {
			longest = max(longest, q.W)
		}
	}
	m.calls = slices.DeleteFunc(m.calls, func(c *Call) bool { return c.unsent || c.end+longest+time.Second < now })
}
