package riftrelay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/limit"
	"riftrelay/riotsim"
)

// fakeTCP is one connection that all calls of a simulation share: what Linux
// would know of it, updated when acknowledgements would come, and with its lag.
type fakeTCP struct {
	mu        sync.Mutex
	r         *rand.Rand
	trip      time.Duration // of the network
	jitter    time.Duration // up to, each way
	loss      float64       // share of the calls whose segment is lost once
	think     [2]time.Duration
	smoothed  int64 // µs, 8 times
	deviation int64 // µs, 4 times
	least     []sample
	resent    int
	lost      int // segments noticed to be lost, and not made up for yet
}

type sample struct {
	at   time.Time
	trip time.Duration
}

// of is riotsim.Latency.Of.
func (f *fakeTCP) of(uint64) (up, down time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	between := func(d time.Duration) time.Duration { return time.Duration(f.r.Float64() * float64(d)) }
	up, down = f.trip/2+between(f.jitter), f.trip/2+between(f.jitter)
	if f.r.Float64() < f.loss {
		timeout := f.timeout()
		time.AfterFunc(timeout, func() { f.set(func() { f.resent++; f.lost++ }) })
		up += timeout
		time.AfterFunc(up+down, func() { f.set(func() { f.lost-- }) }) // Karn: no round trip
	} else {
		trip := up + down
		time.AfterFunc(trip, func() { f.set(func() { f.acknowledged(trip) }) })
	}
	return up, down + f.think[0] + between(f.think[1]-f.think[0])
}

func (f *fakeTCP) set(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// acknowledged is tcp_rtt_estimator of Linux, and its least round trip of 5
// minutes.
func (f *fakeTCP) acknowledged(trip time.Duration) {
	m := trip.Microseconds()
	if f.smoothed == 0 {
		f.smoothed, f.deviation = m<<3, m<<1
	} else {
		m -= f.smoothed >> 3
		f.smoothed += m
		if m < 0 {
			m = -m - f.deviation>>2
			if m > 0 {
				m >>= 3
			}
		} else {
			m -= f.deviation >> 2
		}
		f.deviation += m
	}
	now := time.Now()
	for len(f.least) > 0 && (f.least[len(f.least)-1].trip >= trip) {
		f.least = f.least[:len(f.least)-1]
	}
	f.least = append(f.least, sample{now, trip})
	for now.Sub(f.least[0].at) > 5*time.Minute {
		f.least = f.least[1:]
	}
}

func (f *fakeTCP) timeout() time.Duration {
	return time.Duration(f.smoothed>>3)*time.Microsecond + max(200*time.Millisecond, time.Duration(f.deviation)*time.Microsecond)
}

func (f *fakeTCP) info(net.Conn) limit.TCP {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.least) == 0 {
		return limit.TCP{Least: f.trip, Smoothed: f.trip, Deviation: f.trip / 2, Timeout: time.Second} // of the handshake
	}
	return limit.TCP{
		Smoothed: time.Duration(f.smoothed>>3) * time.Microsecond, Deviation: time.Duration(f.deviation>>2) * time.Microsecond,
		Least: f.least[0].trip, Timeout: f.timeout(), Resent: f.resent, Stuck: f.lost > 0,
	}
}

// withTCP simulates an edge behind f. If told is false, TCP tells nothing.
func withTCP(t *testing.T, f *fakeTCP, told bool, cfg riotsim.Config, lib riftrelay.Config) *simulated {
	t.Helper()
	f.r = rand.New(rand.NewPCG(1, 9))
	cfg.Latency = riotsim.Latency{Of: f.of}
	cfg.MethodLimits = []riotsim.Rule{{Limit: riotsim.NoLimit}}
	lib.AdmissionTimeout = -1
	s := simulate(t, cfg, lib)
	rt := &riftrelay.Transport{Limiter: s.limiter, Base: s.wire}
	if told {
		rt.TCPInfo = f.info
	}
	s.client = &http.Client{Transport: rt}
	return s
}

// TestThinkTime has Riot take 0.5 to 3 s for each answer, on a network of 20 ms
// there and back. What TCP tells takes that off the round trip: J is what the
// network needs, and the limit is used to the full. Without, a slow answer looks
// like a slow way.
func TestThinkTime(t *testing.T) {
	for _, set := range limitSets[:3] {
		for _, pacing := range []float64{riftrelay.Spread, riftrelay.Burst} {
			for _, told := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/b=%v/TCP=%v", set.name, pacing, told), func(t *testing.T) {
					if thinned(t) {
						return
					}
					synctest.Test(t, func(t *testing.T) {
						f := &fakeTCP{trip: 20 * time.Millisecond, think: [2]time.Duration{500 * time.Millisecond, 3 * time.Second}}
						s := withTCP(t, f, told, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: set.app}}, Windows: riotsim.Sliding}, riftrelay.Config{Pacing: pacing})
						use := s.use(t, set, 500)
						j := s.limiter.Snapshot().Margin
						t.Logf("use %.4f, J %v", use, j)
						s.mustHold(t)
						if !told {
							if j < time.Second {
								t.Errorf("J is %v without TCP, want it to cover what can be seen: 2.5 s", j)
							}
							return
						}
						least := 0.997
						if set.w == time.Second {
							least = 0.98
						}
						most := 7 * time.Millisecond
						if set.w > time.Minute && pacing == riftrelay.Burst {
							most = riftrelay.DefaultMargin // after a minute without calls it starts again
						}
						if j > most || use < least {
							t.Errorf("J is %v and use %.4f, want at most %v and at least %v", j, use, most, least)
						}
					})
				})
			}
		}
	}
}

// use keeps n calls waiting over many windows of the set, and gives what was
// used of it, of the windows after the first.
func (s *simulated) use(t *testing.T, set limitSet, n int) float64 {
	t.Helper()
	cycles, skipped := 8, 2
	if set.w == time.Second {
		cycles, skipped = 60, 20
	}
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(time.Duration(float64(cycles+1)*4*float64(set.w)), stop)
	var wg *sync.WaitGroup
	go func() {
		for len(s.edge.Arrivals()) <= cycles*set.n && ctx.Err() == nil {
			time.Sleep(time.Second)
		}
		stop()
	}()
	wg = backlog(ctx, t, s.client, n, byPUUID)
	wg.Wait()
	arrivals := s.edge.Arrivals()
	first, last := skipped*set.n, cycles*set.n
	if last >= len(arrivals) {
		t.Fatalf("%d arrivals, want more than %d", len(arrivals), last)
	}
	span := arrivals[last].Time.Sub(arrivals[first].Time)
	return float64(cycles-skipped) * float64(set.w) / float64(span)
}

// TestThinkTimeAndDelayJumps is TestDelayJumps with answers that take 0.5 to 3 s:
// what is smoothed lags behind, and must not be believed too soon.
func TestThinkTimeAndDelayJumps(t *testing.T) {
	for _, limits := range []string{"20:1,100:120", "500:10", "100:1"} {
		for _, pacing := range []float64{riftrelay.Spread, riftrelay.Burst} {
			t.Run(fmt.Sprintf("%s/b=%v", limits, pacing), func(t *testing.T) {
				if thinned(t) {
					return
				}
				synctest.Test(t, func(t *testing.T) {
					f := &fakeTCP{trip: 20 * time.Millisecond, think: [2]time.Duration{500 * time.Millisecond, 3 * time.Second}}
					s := withTCP(t, f, true, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: limits}}, Windows: riotsim.Sliding}, riftrelay.Config{Pacing: pacing})
					ctx, stop := context.WithCancel(t.Context())
					go func() {
						defer stop()
						for range 2 {
							time.Sleep(2 * time.Minute)
							f.set(func() { f.trip = 400 * time.Millisecond })
							time.Sleep(5 * time.Minute)
							f.set(func() { f.trip = 20 * time.Millisecond })
						}
						time.Sleep(time.Minute)
					}()
					backlog(ctx, t, s.client, 500, byPUUID).Wait()
					s.mustHold(t)
				})
			})
		}
	}
}

// TestThinkTimeAndUnforeseenFall is TestDelayFallsUnforeseen with answers that
// take 0.5 to 3 s. The bound is what we reach.
func TestThinkTimeAndUnforeseenFall(t *testing.T) {
	for _, limits := range []string{"20:1,100:120", "500:10", "100:1"} {
		t.Run(limits, func(t *testing.T) {
			if thinned(t) {
				return
			}
			synctest.Test(t, func(t *testing.T) {
				f := &fakeTCP{trip: 400 * time.Millisecond, think: [2]time.Duration{500 * time.Millisecond, 3 * time.Second}}
				s := withTCP(t, f, true, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: limits}}}, riftrelay.Config{})
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(15*time.Minute, func() { f.set(func() { f.trip = 20 * time.Millisecond }) })
				time.AfterFunc(18*time.Minute, stop)
				backlog(ctx, t, s.client, 500, byPUUID).Wait()
				t.Logf("%d own 429s", s.violations.Load())
				if n := s.violations.Load(); n > 5 {
					t.Errorf("%d own 429s when the delay fell", n)
				}
			})
		})
	}
}

// TestThinkTimeAndLostPackets loses one call's segment in fifty, or in two
// thousand, on a line of 30 ms, with answers at once or after 0.5 to 3 s: each is
// late by TCP's time-out. The look at the connection, before the call's charges
// expire, makes up for what nobody could foresee.
func TestThinkTimeAndLostPackets(t *testing.T) {
	for _, limits := range []string{"20:1,100:120", "500:10", "100:1"} {
		for _, loss := range []float64{0.02, 0.0005} {
			for _, think := range []time.Duration{0, 500 * time.Millisecond} {
				t.Run(fmt.Sprintf("%s/%v/%v", limits, loss, think), func(t *testing.T) {
					if thinned(t) {
						return
					}
					synctest.Test(t, func(t *testing.T) {
						f := &fakeTCP{trip: 30 * time.Millisecond, loss: loss, think: [2]time.Duration{think, 6 * think}}
						s := withTCP(t, f, true, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: limits}}, Windows: riotsim.Sliding}, riftrelay.Config{})
						ctx, stop := context.WithCancel(t.Context())
						time.AfterFunc(5*time.Minute, stop)
						backlog(ctx, t, s.client, 600, byPUUID).Wait()
						t.Logf("%d of %d calls sent again, %d own 429s, J %v", f.resent, s.edge.Report().Arrived, s.violations.Load(), s.limiter.Snapshot().Margin)
						s.mustHold(t)
					})
				})
			}
		}
	}
}
