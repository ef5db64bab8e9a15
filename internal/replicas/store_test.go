package replicas

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"riftrelay/internal/redisserver"
)

// do runs a command as the server's admin.
func do(t *testing.T, s *redisserver.Server, args ...any) any {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	v, err := c.Do(context.Background(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}

// A store that stands still for 3 s costs a call no more than the time-out.
func TestStoreFrozen(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText, "PACING=burst")
	r.planned = 1
	r.startAll(redis.URL(), redis.URL(), redis.URL())
	var all []*callers
	for _, p := range r.relays { // 20 calls a second: less than shares of nine tenths
		all = append(all, r.call(p, habit{n: 1, think: 100 * time.Millisecond}))
	}
	slowest := func(from, to time.Time) (d time.Duration) {
		for _, c := range all {
			d = max(d, percentile(c.took(from, to), 100))
		}
		return d
	}
	time.Sleep(3 * time.Second)
	calm := time.Now()
	time.Sleep(4 * time.Second)
	frozen := time.Now()
	signalRedis(t, redis, standStill)
	time.Sleep(3 * time.Second)
	signalRedis(t, redis, goOn)
	thawed := time.Now()
	r.meet()
	known := time.Since(thawed)
	time.Sleep(3 * time.Second)
	end := time.Now()
	before, during := slowest(calm, frozen), slowest(frozen.Add(-300*time.Millisecond), end.Add(-time.Second))
	if more := during - before; more > longestOf(150*time.Millisecond) {
		t.Errorf("the slowest call took %v, without the freeze %v: %v more", during, before, more)
	}
	r.most(0)
	r.noFailures(all...)
	measured(t, "store frozen for 3 s: slowest call %v, %v without; back after %v; own 429s %d", ms(during), ms(before), ms(known), r.violations())
}

// The same under more calls than the limit allows.
func TestStoreFrozenUnderBacklog(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	r.planned = 1
	r.startAll(redis.URL(), redis.URL(), redis.URL())
	all := r.backlog(24)
	time.Sleep(3 * time.Second)
	frozen := time.Now()
	signalRedis(t, redis, standStill)
	time.Sleep(3 * time.Second)
	signalRedis(t, redis, goOn)
	thawed := time.Now()
	use := r.rate(frozen, thawed) / limitRate
	r.meet()
	full := r.untilFull(thawed)
	if use < least(0.74) { // nine tenths, but for the first half second
		t.Errorf("use of the limit %.1f %% meanwhile", 100*use)
	}
	r.most(0)
	r.noFailures(all...)
	measured(t, "store frozen for 3 s under backlog: use %.1f %% meanwhile, full rate after %v; own 429s %d; fullest interval %d", 100*use, ms(full), r.violations(), r.worst())
}

// A store that is gone for long, and knows nothing when it is back.
func TestStoreKilled(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	r.planned = 1
	r.startAll(redis.URL(), redis.URL(), redis.URL())
	all := r.backlog(24)
	time.Sleep(3 * time.Second)
	away := 10 * time.Second
	if *long {
		away = time.Minute
	}
	redis.Kill()
	killed := time.Now()
	time.Sleep(away)
	use := r.rate(killed, time.Now()) / limitRate
	r.most(0)
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	r.meet()
	full := r.untilFull(back)
	time.Sleep(window)
	if use < least(0.8) {
		t.Errorf("use of the limit %.1f %% without the store", 100*use)
	}
	r.most(1) // of the application's scope
	r.noFailures(all...)
	measured(t, "store away for %.0f s and back empty: use %.1f %% meanwhile, full rate after %v; own 429s %d; fullest interval %d", away.Seconds(), 100*use, ms(full), r.violations(), r.worst())
}

// A store that forgets everything of a sudden.
func TestStoreFlushed(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	r.startAll(redis.URL(), redis.URL(), redis.URL())
	all := r.backlog(24)
	time.Sleep(3 * time.Second)
	var back []time.Duration
	n := repeats(5)
	for range n {
		do(t, redis, "FLUSHALL")
		back = append(back, r.untilFull(time.Now()))
		time.Sleep(window)
	}
	r.most(n)
	r.noFailures(all...)
	measured(t, "FLUSHALL × %d: full rate after %v at most; own 429s %d; fullest interval %d", n, longest(back), r.violations(), r.worst())
}
