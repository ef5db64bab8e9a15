package window

import (
	"time"

	"riftrelay/internal/limit"
)

// pace spreads calls over a window. T = W/N is the distance of an even
// schedule. A grant that comes on schedule, at most a small slack late, keeps
// the schedule; a later one starts afresh. So lateness of timers isn't lost,
// and a pause doesn't turn into a clump.
type pace struct {
	tat     limit.Instant // theoretical arrival time of the next call
	started bool
}

// next returns the earliest moment for the next call when the window of n calls
// holds used charges and the share burst of it needs no pacing.
func (p *pace) next(now limit.Instant, used, n int, burst float64) limit.Instant {
	if !p.started || float64(used) < burst*float64(n) {
		return now
	}
	return p.tat
}

// grant notes a call at now. j is the margin, and held is until when charges
// held the call back: what is late for them alone, within the variation of the
// delay, is made up for, otherwise the slots would follow the slowest answers.
func (p *pace) grant(now limit.Instant, w time.Duration, n int, j time.Duration, held limit.Instant) {
	t := w / time.Duration(n)
	slack := max(2*time.Millisecond, min(j, t))
	late := now.Sub(p.tat)
	switch {
	case p.started && 0 <= late && late <= slack:
		p.tat = p.tat.Add(t)
	case p.started && late > slack && held > p.tat && now.Sub(held) <= slack:
		p.tat = max(p.tat, now.Add(-j)).Add(t)
	default:
		p.tat = now.Add(t)
	}
	p.started = true
}
