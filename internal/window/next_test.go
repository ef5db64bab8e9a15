package window

import (
	"math/rand/v2"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// TestNextIsNeverLate holds what window.next promises against a look at each
// millisecond: with no event in between, no call could go before the moment that
// was returned. Others use the key, J falls, limits are halved and capped.
func TestNextIsNeverLate(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9))
		now := limit.Instant(time.Hour)
		s := rigWith("8:1", "1000:1").app
		w := s.windows[0]
		var holds []*Hold
		for range 40 {
			p := Policy{Burst: float64(r.IntN(3)) / 2, Margin: time.Duration(1+r.IntN(8)) * 50 * time.Millisecond, Unpaced: r.IntN(2) == 0}
			switch op := r.IntN(8); {
			case op < 4:
				h := new(Hold)
				h.Take(now, p, nil, s)
				h.Sent(now, p.Margin)
				holds = append(holds, h)
			case op < 6 && len(holds) > 0:
				h := holds[0]
				holds = holds[1:]
				w.counted(now, r.IntN(12), h, p.Margin)
				h.Settle(now, p.Margin)
			case op == 6:
				w.halved = r.IntN(3)
			case op == 7:
				w.cap, w.capNext, w.capAt = r.IntN(8), 1+r.IntN(8), now.Add(time.Duration(r.IntN(2000))*time.Millisecond)
			}
			underWay := s.inFlight > 0
			until := limit.Instant(0)
			for range r.IntN(3000) {
				at := w.next(now, p, underWay)
				if at <= now && now < until {
					t.Fatalf("seed %d: a call could go %v before the moment that was returned", seed, until.Sub(now))
				}
				until = max(until, at)
				if at <= now {
					break
				}
				now = now.Add(time.Millisecond)
			}
			now = now.Add(time.Duration(r.IntN(50)) * time.Millisecond)
		}
	}
}
