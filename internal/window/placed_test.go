package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// TestShrunkMarginKeepsCharges sends a call while the margin is 2 s, and asks with
// one of 5 ms later: the charge lasts as long as the greater margin says.
func TestShrunkMarginKeepsCharges(t *testing.T) {
	r := rigWith("1:10", "100:1")
	slow, quick := Policy{Burst: 1, Margin: 2 * time.Second}, Policy{Burst: 1, Margin: 5 * time.Millisecond}
	h := new(Hold)
	h.Take(0, slow, &r.service, r.app, r.method)
	h.Sent(0, slow.Margin)
	for _, at := range []float64{1, 5_000, 10_004, 10_006, 11_999} {
		if next := r.app.Next(ms[limit.Instant](at), quick); next <= ms[limit.Instant](at) {
			t.Errorf("at %v ms a call may go, and the charge lasts until 12 s", at)
		}
	}
	if at := r.app.Next(ms[limit.Instant](12_000), quick); at != ms[limit.Instant](12_000) {
		t.Errorf("next at %v, want 12s", time.Duration(at))
	}
}
