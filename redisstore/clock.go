package redisstore

import (
	"sync"
	"time"

	"riftrelay/internal/limit"
)

// serverClock knows between which bounds the server's clock is: from when calls
// were sent and answered, and what the server said it was.
type serverClock struct {
	mu    sync.Mutex
	known bool
	early time.Duration // the server's time is at least this ahead of ours
	late  time.Duration // and at most this
	at    time.Time     // of both bounds

	jump   time.Duration // the last one
	paused time.Time     // until when nothing is granted
	window time.Duration // the longest that was seen
}

// jumpFrom is what counts as a jump: less ahead is lost in the margin J, less
// back is waited for.
const jumpFrom = 250 * time.Millisecond

// leastPause is the longest window there may be while none has been seen.
const leastPause = 2 * time.Minute

// drift is how much two clocks may come apart, of the time since.
const drift = 1e-3

// origin makes instants lengths; it reads the monotonic clock, where ours can't
// jump.
var origin = time.Now()

// deadline returns the server's time at which the caller gives up, at the
// earliest, in milliseconds; 0 if the server's time isn't known.
func (c *serverClock) deadline(giveUp time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return 0
	}
	return int64((giveUp.Sub(origin) + c.early) / time.Millisecond)
}

// heard takes over the server's time from an answer. jump is how far it is
// ahead of what was expected, or below 0 behind it.
func (c *serverClock) heard(sent, got time.Time, millis int64) (jump time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	server := time.Duration(millis) * time.Millisecond
	// Whole milliseconds: it may have been one later.
	early, late := server-got.Sub(origin), server+time.Millisecond-sent.Sub(origin)
	if !c.known {
		c.known, c.early, c.late, c.at = true, early, late, got
		return 0
	}
	if late < c.early {
		// The ledger's time stands still for as long: no charge ends.
		jump = late - c.early
		c.early, c.late, c.at = early, late, got
		if -jump > jumpFrom {
			c.pause(jump, got.Add(-jump))
		}
		return jump
	}
	if early > c.late {
		jump = early - c.late
		c.early, c.late, c.at = early, late, got
		if jump > jumpFrom {
			c.pause(jump, got.Add(min(jump, max(c.window, leastPause)+limit.SendBy)))
		}
		return jump
	}
	// Both bounds hold; older ones less so.
	d := time.Duration(float64(got.Sub(c.at)) * drift)
	c.early, c.late, c.at = max(early, c.early-d), min(late, c.late+d), got
	return 0
}

// pause has nothing granted until then. c.mu is held.
func (c *serverClock) pause(jump time.Duration, until time.Time) {
	if until.After(c.paused) {
		c.jump, c.paused = jump, until
	}
}

// pausing returns the error of Admit after a jump, nil when it is over.
func (c *serverClock) pausing(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := c.paused.Sub(now); left > 0 {
		return &JumpError{By: c.jump, Left: left}
	}
	return nil
}

// sees notes how long the windows are: no jump costs more than the longest.
func (c *serverClock) sees(window time.Duration) {
	c.mu.Lock()
	c.window = max(c.window, window)
	c.mu.Unlock()
}
