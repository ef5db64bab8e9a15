package sched

import (
	"fmt"
	"testing"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// changes tells what the machine has to tell.
func (s *story) changes() {
	list, lost := s.m.Changes()
	for _, c := range list {
		s.printf("! %s: %s", clock(c.At), inWords(c))
	}
	if lost > 0 {
		s.printf("! and %d more", lost)
	}
}

func inWords(c Change) string {
	who := fmt.Sprintf("key %d", c.Key)
	switch {
	case c.Part == Service:
		who = "everyone"
	case c.Key < 0:
		who = "who has no key"
	}
	if c.Host != "" {
		who += " on " + c.Host + c.Method
	}
	quota := func(n int) string { return limit.Quota{N: n, W: c.Window}.String() }
	switch c.Kind {
	case LimitLearned:
		return who + " has the limit " + quota(c.New)
	case LimitChanged:
		return who + " has " + quota(c.New) + " for " + quota(c.Old)
	case LimitReached:
		return who + " has reached " + quota(c.New)
	case CooldownBegan:
		return fmt.Sprintf("%s stops (%v) until %s", who, c.Cause, clock(c.Until))
	case CooldownEnded:
		return fmt.Sprintf("%s goes on (%v)", who, c.Cause)
	case LimitsHalved, LimitsRaised:
		return fmt.Sprintf("%s halves its limits %d times, not %d", who, c.New, c.Old)
	case KeySuspended:
		return fmt.Sprintf("%s is suspect (%d)", who, c.Status)
	case KeyReturned:
		return who + " is good again"
	case KeyDisabled:
		return who + " is disabled"
	case KeyEnabled:
		return who + " is enabled"
	}
	return "?"
}

// What nobody takes is dropped and counted, and nothing is kept for nobody.
func TestChangesAreBounded(t *testing.T) {
	for _, watch := range []bool{true, false} {
		m := New(Config{Keys: 1, Burst: 1, QueueCapacity: 1, QueueTotal: 1, Watch: watch})
		const calls = maxChanges + 10
		for i := range calls {
			p, _ := m.Enqueue(0, new(Waiter), Request{Host: "euw1", Method: fmt.Sprint(i), Pin: -1})
			if p == nil {
				t.Fatal(i)
			}
			app := ""
			if i == 0 {
				app = "10000:1"
			}
			m.Answer(1, p, window.Answer{Status: 200, AppLimit: app, MethodLimit: "10:1"})
		}
		kept, lost := m.Changes()
		if watch && (len(kept) != maxChanges || lost != 11) || !watch && (len(kept) != 0 || lost != 0) {
			t.Errorf("watch %v: %d kept, %d lost", watch, len(kept), lost)
		}
		if kept, lost = m.Changes(); len(kept) != 0 || lost != 0 {
			t.Errorf("watch %v: %d kept, %d lost, once taken", watch, len(kept), lost)
		}
		if !watch && m.watch.changes != nil {
			t.Error("kept for nobody")
		}
	}
}

// Every stop that was told to begin is told to end, once, whatever happens.
func (c *chaos) hear() {
	list, _ := c.m.Changes()
	for _, x := range list {
		who := fmt.Sprint(x.Key, x.Host, x.Method, x.Part)
		switch x.Kind {
		case CooldownBegan:
			if c.stops[who] {
				c.t.Fatalf("%s: a stop begins that goes on", who)
			}
			c.stops[who] = true
		case CooldownEnded:
			if !c.stops[who] {
				c.t.Fatalf("%s: a stop ends that didn't begin", who)
			}
			delete(c.stops, who)
		case LimitChanged:
			if x.Old == x.New {
				c.t.Fatalf("%s: no change: %+v", who, x)
			}
		case LimitLearned, LimitReached, LimitsHalved, LimitsRaised, KeySuspended, KeyReturned, KeyDisabled, KeyEnabled:
		}
	}
}
