package riftrelay_test

import (
	"math"
	"testing"

	"riftrelay"
)

// pacings are those that random tests choose from.
var pacings = []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingShare(0.25), riftrelay.PacingBalanced, riftrelay.PacingBurst}

func TestPacing(t *testing.T) {
	for _, c := range []struct {
		p     riftrelay.Pacing
		share float64
		text  string
	}{
		{riftrelay.PacingBalanced, 0.5, "balanced"},
		{riftrelay.PacingSpread, 0, "spread"},
		{riftrelay.PacingBurst, 1, "burst"},
		{riftrelay.PacingShare(-1), 0, "spread"},
		{riftrelay.PacingShare(0), 0, "spread"},
		{riftrelay.PacingShare(math.NaN()), 0, "spread"},
		{riftrelay.PacingShare(0.25), 0.25, "0.25"},
		{riftrelay.PacingShare(0.5), 0.5, "balanced"},
		{riftrelay.PacingShare(0.999), 1, "burst"},
		{riftrelay.PacingShare(2), 1, "burst"},
	} {
		if c.p.Share() != c.share || c.p.String() != c.text {
			t.Errorf("pacing %d: share %v, %q; want %v, %q", c.p, c.p.Share(), c.p, c.share, c.text)
		}
	}
}
