package sched

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// What was spent without the store is told unchanged until an answer comes, and
// what is spent later with another number.
func TestDeskTellsWhatWasSpentUntilAnswered(t *testing.T) {
	c := newCounter(t, 1)
	c.call("/x", 2, -1)
	c.reply(c.only(), 1)
	c.m.Sent(c.now, c.let[0])
	c.m.Answer(c.now, c.let[0], window.Answer{Status: 200, AppLimit: "20:1", MethodLimit: "10:1"})
	c.m.GoAlone(c.now, 1)
	c.wait(100 * time.Millisecond)
	c.m.Rejoin(c.now, c.now)
	first := c.only()
	if first.Merge == nil || first.Merge.Number == 0 || first.Merge.Epoch != 1 {
		t.Fatalf("%+v", first.Merge)
	}
	c.m.Failed(c.now, first)
	c.wait(70 * time.Millisecond)
	second := c.only()
	if diff := cmp.Diff(first.Merge.Aged(70*time.Millisecond), second.Merge); diff != "" {
		t.Errorf("told again otherwise:\n%s", diff)
	}
	c.m.GoAlone(c.now, 1)
	c.m.Failed(c.now, second)
	c.m.Rejoin(c.now, c.now)
	third := c.only()
	if third.Merge == nil || third.Merge.Number != first.Merge.Number {
		t.Fatalf("%+v", third.Merge)
	}
	views := limit.Reply{Epoch: 1, Views: make([]limit.View, len(third.Demands)), Waits: make([]limit.Wait, len(third.Demands))}
	for i := range views.Waits {
		views.Waits[i] = limit.Wait{In: time.Second, Why: limit.WaitStop}
	}
	c.m.Replied(c.now, c.now, third, views)
	fourth := c.only()
	if fourth.Merge == nil || fourth.Merge.Number <= third.Merge.Number {
		t.Errorf("%+v after %+v", fourth.Merge, third.Merge)
	}
}
