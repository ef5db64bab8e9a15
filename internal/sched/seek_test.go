package sched

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// Calls wait on a key whose window is full. After each change of the keys they
// are asked for at once on the key that is left.
func TestDeskSeeksAfterKeysChange(t *testing.T) {
	for _, c := range []struct {
		name   string
		keys   int
		change func(c *counter)
		want   int // key
	}{
		{"replaced", 1, func(c *counter) {
			c.m.SetKeys(c.now, []int{c.m.AddKey(c.now, nil)}, nil)
		}, 1},
		{"removed", 2, func(c *counter) { c.m.SetKeys(c.now, []int{1}, nil) }, 1},
		{"disabled", 2, func(c *counter) { c.m.Disable(c.now, 0, c.now) }, 1},
		{"suspect", 2, func(c *counter) { c.m.Suspected(c.now, 0, true) }, 1},
		{"enabled", 1, func(c *counter) {
			c.m.SetKeys(c.now, []int{0, c.m.AddKey(c.now, nil)}, nil)
			c.m.Disable(c.now, 1, c.now)
			for range 2 { // what SetKeys had asked
				for _, q := range c.ask() {
					c.reply(q, 0)
				}
			}
			c.m.Enable(c.now, 1)
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newCounter(t, c.keys)
			k.call("/x", 5, -1)
			k.reply(k.only(), 0)
			for _, q := range k.ask() {
				k.reply(q, 0)
			}
			k.wait(100 * time.Millisecond)
			c.change(k)
			for _, q := range k.ask() {
				if q.Key == c.want && len(q.Demands) == 1 && q.Demands[0].Want[0] == 5 {
					return
				}
				k.reply(q, 0)
			}
			// The other key may have been asked before: then it is again when the
			// store said so.
			k.wait(500 * time.Millisecond)
			for _, q := range k.ask() {
				if q.Key == c.want && len(q.Demands) == 1 {
					return
				}
			}
			t.Errorf("nothing is asked on key %d", c.want)
		})
	}
}

// answerFor answers all questions for a while, with grants or none.
func (c *counter) answerFor(d time.Duration, grants int) {
	for end := c.now.Add(d); c.now < end; c.now = min(end, max(c.now+1, c.m.NextAsk())) {
		for _, q := range c.ask() {
			c.reply(q, grants)
		}
	}
}

// Calls are asked for on a key without a stop, also when it is not its turn.
func TestDeskSeeksBesideAStop(t *testing.T) {
	c := newCounter(t, 2)
	for key := range 2 { // then it is the first one's turn
		c.call("/x", 1, key)
		c.reply(c.only(), 1)
		c.answerFor(10*time.Millisecond, 0)
	}
	c.m.Sent(c.now, c.let[0])
	c.m.Answer(c.now, c.let[0], window.Answer{Status: 429, Type: "application", RetryAfter: []string{"100"}})
	c.answerFor(time.Second, 0)
	c.call("/x", 3, -1)
	c.answerFor(100*time.Millisecond, 1000)
	if len(c.let) != 5 {
		t.Errorf("%d of 3 calls went", len(c.let)-2)
	}
}

// A key that was refused a method may be tried there again after a while. Nothing
// tells of that moment but time.
func TestDeskSeeksWhatTimeChanges(t *testing.T) {
	c := newCounter(t, 2)
	first := Request{Host: "euw1", Method: "/x", Pin: -1, First: true, Deadline: limit.Never}
	c.m.Enqueue(c.now, new(Waiter), first)
	c.reply(c.only(), 1)
	p := c.let[0]
	c.m.Sent(c.now, p)
	c.m.Judge(c.now, p, Refused, 403)
	c.m.Answer(c.now, p, window.Answer{Status: 403})
	c.m.Enqueue(c.now, new(Waiter), first)
	q := c.only()
	if q.Key != 1 {
		t.Fatalf("asks on key %d", q.Key)
	}
	known := limit.View{Known: true}
	c.m.Replied(c.now, c.now, q, limit.Reply{
		Epoch: 1, App: limit.View{Known: true, Stop: time.Hour, Cause: limit.Application},
		Views: []limit.View{known}, Waits: []limit.Wait{{In: time.Second, Why: limit.WaitStop}},
	})
	c.answerFor(firstProbe-time.Millisecond, 0)
	if len(c.let) > 1 {
		t.Fatal("the call goes before its time")
	}
	c.answerFor(seekEvery+100*time.Millisecond, 1000)
	if len(c.let) != 2 {
		t.Error("the call waits on")
	}
}
