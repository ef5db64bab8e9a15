package window

import (
	"time"

	"riftrelay/internal/limit"
)

// extreme keeps the largest value of the last memory/2 to memory.
type extreme struct {
	memory time.Duration
	value  time.Duration // of both halves

	began           limit.Instant
	older, current  time.Duration
	hasOlder, begun bool
}

// turns returns when the older half of the values is forgotten next.
func (e *extreme) turns() limit.Instant { return e.began.Add(e.memory / 2) }

// add takes in a value.
func (e *extreme) add(now limit.Instant, v time.Duration) {
	if half := e.memory / 2; !e.begun || now.Sub(e.began) >= half {
		e.older, e.hasOlder = e.current, e.begun && now.Sub(e.began) < e.memory
		e.current, e.began, e.begun = v, now, true
	} else {
		e.current = max(e.current, v)
	}
	if e.value = e.current; e.hasOlder {
		e.value = max(e.value, e.older)
	}
}
