package top

import "fmt"

// store is what all replicas share.
type store struct {
	Replicas int     `json:"replicas"` // that live, this one among them
	Trip     seconds `json:"trip_seconds"`
	Away     text    `json:"away"` // why it can't be reached
	For      seconds `json:"away_seconds"`
	Alone    bool    `json:"alone"`
}

// line says how it is with the store; nothing without one. It stands where else
// the blank line is.
func (s *store) line() string {
	switch {
	case s == nil:
		return ""
	case s.Away == "":
		return paint(green, "store up") + fmt.Sprintf("  %s  %s there and back", replicas(s.Replicas), s.Trip)
	case s.Alone && s.Replicas > 1:
		return paint(red, fmt.Sprintf("store away for %s, going on within 1/%d of the limits: %s", s.For, s.Replicas, s.Away))
	case s.Alone:
		return paint(red, fmt.Sprintf("store away for %s, going on as the only replica: %s", s.For, s.Away))
	}
	return paint(red, fmt.Sprintf("store away for %s, nothing is sent: %s", s.For, s.Away))
}

func replicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}
