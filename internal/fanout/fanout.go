// Package fanout tells several listeners the same values.
package fanout

import (
	"context"
	"slices"
	"sync"
)

// List is listeners. The zero List has none. All methods are safe for
// concurrent use.
type List[T any] struct {
	// Missed is what a listener hears that was too slow, in place of all that
	// it has not read yet.
	Missed T

	mu     sync.Mutex
	closed bool
	all    []chan T
}

// unread bounds the values that a listener has not read yet.
const unread = 64

// Listen returns a channel with all that is told from now on. It is closed when
// ctx ends, or by Close. first reports whether nobody listened before.
func (l *List[T]) Listen(ctx context.Context) (c <-chan T, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := make(chan T, unread)
	if l.closed || ctx.Err() != nil {
		close(mine)
		return mine, false
	}
	first = len(l.all) == 0
	l.all = append(l.all, mine)
	context.AfterFunc(ctx, func() { l.end(mine) })
	return mine, first
}

func (l *List[T]) end(c chan T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.all, c); i >= 0 {
		l.all = slices.Delete(l.all, i, i+1)
		close(c)
	}
}

// Tell tells all listeners v. It doesn't block.
func (l *List[T]) Tell(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.all {
		select {
		case c <- v:
			continue
		default:
		}
		for len(c) > 0 {
			select {
			case <-c:
			default: // the listener was quicker
			}
		}
		c <- l.Missed // nobody else sends
	}
}

// Len returns how many listen.
func (l *List[T]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// Close closes all channels.
func (l *List[T]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.all {
		close(c)
	}
	l.closed, l.all = true, nil
}
