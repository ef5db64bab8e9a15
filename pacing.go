package riftrelay

import (
	"math"
	"strconv"
)

// Pacing says how calls of normal priority are laid over a window of Riot's: a
// share of the window goes as soon as a slot is free, the rest is spread evenly.
// The zero value is PacingBalanced.
type Pacing uint8

// The named pacings. PacingShare makes those between.
const (
	PacingBalanced Pacing = 0   // half of each window at once, the rest spread
	PacingSpread   Pacing = 1   // evenly over the window
	PacingBurst    Pacing = 101 // as soon as a slot is free
)

// balancedShare is the share of PacingBalanced: docs/performance.md has what
// pages and bulk jobs meet with others.
const balancedShare = 0.5

// PacingShare makes a Pacing of the share of each window that goes at once, from
// 0 (PacingSpread) to 1 (PacingBurst), to a hundredth. A share beyond these is
// the nearest of them.
func PacingShare(share float64) Pacing {
	if !(share > 0) { // also NaN
		return PacingSpread
	}
	return PacingSpread + Pacing(math.Round(100*min(share, 1)))
}

// Share returns the share of each window that goes at once, 0 to 1.
func (p Pacing) Share() float64 {
	if p == PacingBalanced {
		return balancedShare
	}
	return float64(min(p, PacingBurst)-PacingSpread) / 100
}

// String returns "balanced", "spread", "burst" or the share, as the setting
// PACING has them.
func (p Pacing) String() string {
	switch {
	case p == PacingBalanced:
		return "balanced"
	case p == PacingSpread:
		return "spread"
	case p >= PacingBurst:
		return "burst"
	}
	return strconv.FormatFloat(p.Share(), 'g', -1, 64)
}
