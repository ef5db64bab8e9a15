package fanout_test

import (
	"context"
	"testing"

	"riftrelay/internal/fanout"
)

func TestListenersComeAndGo(t *testing.T) {
	var l fanout.List[int]
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		c, first := l.Listen(ctx)
		if !first {
			t.Fatal("somebody listens still")
		}
		l.Tell(1)
		if v := <-c; v != 1 {
			t.Fatal(v)
		}
		cancel()
		for range c { // until it is closed
		}
	}
	if n := l.Len(); n != 0 {
		t.Errorf("%d listeners are left", n)
	}
}

// A listener that doesn't read holds nobody up, and hears that it missed some.
func TestSlowListener(t *testing.T) {
	l := fanout.List[int]{Missed: -1}
	c, _ := l.Listen(t.Context())
	quick, first := l.Listen(t.Context())
	if first {
		t.Error("the second listener is the first")
	}
	for i := range 1000 {
		l.Tell(i)
		if v := <-quick; v != i {
			t.Fatalf("%d, want %d", v, i)
		}
	}
	l.Close()
	missed, last := false, 0
	for v := range c {
		missed, last = missed || v == -1, v
	}
	if !missed || last != 999 {
		t.Errorf("missed %v, last %d; want true and 999", missed, last)
	}
	if _, open := <-quick; open {
		t.Error("Close leaves a channel open")
	}
	after, _ := l.Listen(t.Context())
	if _, open := <-after; open {
		t.Error("one that comes after Close isn't told of it")
	}
}
