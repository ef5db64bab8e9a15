package replicas

import (
	"syscall"
	"testing"
	"time"
)

// repeats is how often something is done: once, with -long more often.
func repeats(often int) int {
	if *long {
		return often
	}
	return 1
}

// A replica that dies costs at most the permits it had; those who called it
// turn to the others, and the limit is used in full again within a window.
func TestReplicaKilled(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	r.startAll(redis.URL(), redis.URL(), redis.URL())
	var back []time.Duration
	for range repeats(20) {
		victim, others := r.relays[0], r.relays[1:]
		all := []*callers{r.call(victim, habit{n: 24, follow: others}), r.call(others[0], habit{n: 24}), r.call(others[1], habit{n: 24})}
		time.Sleep(3 * time.Second)
		victim.kill()
		killed := time.Now()
		back = append(back, r.untilFull(killed))
		r.noFailures(all...)
		for _, c := range all {
			c.end()
		}
		r.relays = others
		r.startAll(redis.URL())
	}
	r.most(0)
	measured(t, "replica killed × %d: full rate after %v at most; own 429s %d; fullest interval %d; store lost %d times", len(back), longest(back), r.violations(), r.worst(), r.losses())
}

// untilFull waits until a window is used to at least 90 % and returns how long
// after a fault that window began.
func (r *rig) untilFull(fault time.Time) time.Duration {
	r.t.Helper()
	const patience = 12 * time.Second
	for from := fault; ; from = from.Add(100 * time.Millisecond) {
		if from.Sub(fault) > patience {
			r.t.Errorf("%v after the fault the limit isn't used again", patience)
			r.tell()
			return patience
		}
		time.Sleep(time.Until(from.Add(window)))
		if r.rate(from, from.Add(window)) >= least(0.9)*limitRate {
			return from.Sub(fault)
		}
	}
}

// longest of all, for people.
func longest(list []time.Duration) (d time.Duration) {
	for _, x := range list {
		d = max(d, x)
	}
	return ms(d)
}

// A replica that stood still doesn't send what it may no longer send.
func TestReplicaStopped(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	r.startAll(redis.URL(), redis.URL(), redis.URL())
	all := r.backlog(24)
	time.Sleep(3 * time.Second)
	r.relays[0].signal(t, standStill)
	stopped := time.Now()
	time.Sleep(5 * time.Second)
	meanwhile := r.rate(stopped.Add(window), time.Now())
	r.relays[0].signal(t, goOn)
	goesOn := time.Now()
	full := r.untilFull(goesOn)
	time.Sleep(window)
	r.most(0)
	r.noFailures(all...)
	if meanwhile < least(0.9)*limitRate {
		t.Errorf("the others use %.1f calls/s of %v", meanwhile, limitRate)
	}
	measured(t, "replica stopped for 5 s: the others use %.1f %%; full rate %v after it goes on; own 429s %d", 100*meanwhile/limitRate, ms(full), r.violations())
}

// Replicas are replaced one after the other, and nobody notices.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText, "SHUTDOWN_TIMEOUT=20s")
	r.startAll(redis.URL(), redis.URL(), redis.URL())
	// The clients of a load balancer move with the relays.
	balancer := newBalancer(t, r.relays)
	front := &relay{front: balancer.url}
	all := r.call(front, habit{n: 60})
	time.Sleep(3 * time.Second)
	from := time.Now()
	for range 3 {
		old := r.relays[0]
		r.start(redis.URL()).ready(t)
		balancer.set(r.relays[1:])
		old.signal(t, syscall.SIGTERM)
		if err := old.wait(); err != nil {
			t.Errorf("a relay ends with %v:\n%s", err, old.said())
		}
		r.relays = r.relays[1:]
	}
	to := time.Now()
	use := r.rate(from, to) / limitRate
	r.most(0)
	r.noFailures(all)
	if use < least(0.9) {
		t.Errorf("use of the limit %.1f %%", 100*use)
	}
	measured(t, "three replicas replaced in %.0f s: use %.1f %%; own 429s %d; no call failed", to.Sub(from).Seconds(), 100*use, r.violations())
}

// A replica without its store, in either direction, keeps to its share; the
// others lose nothing but that.
func TestReplicaCutOff(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]condition{"up": {dropUp: true}, "down": {dropDown: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := startRedis(t)
			r := newRig(t, limitText, tolerant)
			w := newWay(t, redis.Addr)
			r.startAll(w.url(), redis.URL(), redis.URL())
			all := r.backlog(24)
			time.Sleep(3 * time.Second)
			w.set(cut)
			from := time.Now()
			time.Sleep(6 * time.Second)
			use := r.rate(from, time.Now()) / limitRate
			alone := float64(all[0].answered(from.Add(time.Second), time.Now())) / (time.Since(from).Seconds() - 1)
			state := r.relays[0].store()
			if alone < least(2) {
				r.tell()
			}
			w.set(condition{})
			back := time.Now()
			r.meet()
			known := time.Since(back)
			full := r.untilFull(back)
			r.most(share) // which the store, that heard nothing, has given to the others
			r.noFailures(all...)
			if state == nil || state.Away == "" || !state.Alone {
				t.Errorf("the state of the one cut off is %+v", state)
			}
			if use < least(0.4) || alone < least(2) {
				t.Errorf("use %.1f %%, of it %.1f calls/s by the one cut off", 100*use, alone)
			}
			measured(t, "cut off (%s) for 6 s: use %.1f %%, the one cut off %.1f calls/s; back after %v, full rate after %v; own 429s %d",
				name, 100*use, alone, ms(known), ms(full), r.violations())
		})
	}
}

// The way to the store is slow, unsteady, breaks, or carries byte by byte.
func TestBadNetwork(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText, tolerant)
	var ways []*way
	var urls []string
	for range 3 {
		w := newWay(t, redis.Addr)
		ways, urls = append(ways, w), append(urls, w.url())
	}
	r.startAll(urls...)
	all := r.backlog(24)
	time.Sleep(3 * time.Second)
	for _, c := range []struct {
		name string
		condition
		least float64 // use of the limit
	}{
		{"15 ms more each way", condition{delay: 15 * time.Millisecond}, 0.75},
		{"200 ms there and back, beyond the time-out", condition{delay: 100 * time.Millisecond}, 0.65},
		{"jitter of 0 to 15 ms each way", condition{jitter: 15 * time.Millisecond}, 0.75},
		{"one packet in 200 breaks the connection", condition{resets: 0.005}, 0.75},
		{"one replica byte by byte", condition{bytewise: true}, 0.75},
	} {
		for i, w := range ways {
			w.set(c.condition)
			if c.bytewise && i > 0 {
				w.set(condition{}) // each byte costs this process as much as a call
			}
		}
		from := time.Now()
		time.Sleep(4 * time.Second)
		use := r.rate(from, time.Now()) / limitRate
		if c.delay == 15*time.Millisecond && r.losses() > 0 {
			noTime()
		}
		if use < least(c.least) {
			t.Errorf("%s: use %.1f %%", c.name, 100*use)
			r.tell()
		}
		measured(t, "%s: use %.1f %%; own 429s so far %d, store lost %d times", c.name, 100*use, r.violations(), r.losses())
	}
	for _, w := range ways {
		w.set(condition{})
	}
	full := r.untilFull(time.Now())
	r.most(share) // each loses the store by itself
	r.noFailures(all...)
	measured(t, "after all of that: full rate after %v; own 429s %d; fullest interval %d", ms(full), r.violations(), r.worst())
}
