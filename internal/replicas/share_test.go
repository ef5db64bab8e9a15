package replicas

import (
	"slices"
	"testing"
	"time"
)

// Several replicas get out of a limit what a single relay gets, never more, and
// each of them as much as the others.
func TestBacklog(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	for _, c := range []struct {
		name     string
		replicas int
		limit    string
		pacing   string
	}{
		{"2 replicas, spread", 2, "20:1", "spread"},
		{"3 replicas, burst", 3, limitText, "burst"},
		{"8 replicas, spread", 8, limitText, "spread"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			redis := redis
			if c.replicas != 2 {
				redis = startRedis(t)
			}
			one, many := newRig(t, c.limit, "PACING="+c.pacing), newRig(t, c.limit, "PACING="+c.pacing)
			one.start("")
			urls := slices.Repeat([]string{redis.URL()}, c.replicas)
			many.startAll(urls...)
			one.backlog(24)
			all := many.backlog(24)
			time.Sleep(3 * time.Second) // the limit is learned, the line stands
			const long = 12 * time.Second
			from := time.Now()
			time.Sleep(long)
			to := from.Add(long)
			ratio := many.rate(from, to) / one.rate(from, to)
			if ratio < least(0.98) {
				t.Errorf("%d replicas get %.1f %% of what one relay gets", c.replicas, 100*ratio)
			}
			s := shares(from, to, all...)
			if j := jain(s); j < least(0.95) || slices.Min(s) < least(0.8) {
				t.Errorf("shares %.2f, Jain %.3f", s, j)
			}
			one.most(0)
			many.most(0)
			many.noFailures(all...)
			measured(t, "use %.1f/s, alone %.1f/s (%.1f %%); Jain %.3f, least share %.2f; own 429s %d; fullest interval %d, alone %d",
				many.rate(from, to), one.rate(from, to), 100*ratio, jain(s), slices.Min(s), many.violations(), many.worst(), one.worst())
		})
	}
}

// Who is far from the store gets as much as who is near.
func TestDistance(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	var urls []string
	for _, c := range []condition{{delay: 100 * time.Microsecond}, {delay: 2 * time.Millisecond, jitter: time.Millisecond}, {delay: 10 * time.Millisecond}} {
		w := newWay(t, redis.Addr)
		w.set(c)
		urls = append(urls, w.url())
	}
	r.startAll(urls...)
	all := r.backlog(24)
	time.Sleep(3 * time.Second)
	from := time.Now()
	time.Sleep(12 * time.Second)
	to := time.Now()
	s := shares(from, to, all...)
	if j := jain(s); j < least(0.95) || slices.Min(s) < least(0.8) {
		t.Errorf("shares %.2f at 0.2, 4 to 6 and 20 ms from the store; Jain %.3f", s, j)
	}
	r.most(0)
	r.noFailures(all...)
	measured(t, "round trips of 0.2, 5 and 20 ms: shares %.2f, Jain %.3f; use %.1f %%; own 429s %d; store lost %d times", s, jain(s), 100*r.rate(from, to)/limitRate, r.violations(), r.losses())
}

// A replica that wants little gets it, whatever the others want.
func TestUnevenDemand(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	r.startAll(redis.URL(), redis.URL(), redis.URL())
	all := []*callers{
		r.call(r.relays[0], habit{n: 60}),
		r.call(r.relays[1], habit{n: 20}),
		r.call(r.relays[2], habit{n: 2, think: 200 * time.Millisecond}),
	}
	time.Sleep(3 * time.Second)
	from := time.Now()
	time.Sleep(12 * time.Second)
	to := time.Now()
	waits := all[2].took(from, to.Add(-2*time.Second))
	small := float64(all[2].answered(from, to)) / to.Sub(from).Seconds()
	if p := percentile(waits, 95); p > longestOf(time.Second) || small < least(4) {
		t.Errorf("the small one gets %.1f calls/s, 95 %% within %v", small, p)
	}
	big := shares(from, to, all[:2]...)
	if slices.Min(big) < least(0.8) {
		t.Errorf("of the big ones one gets %.2f of its share", slices.Min(big))
	}
	r.most(0)
	r.noFailures(all...)
	measured(t, "two callers beside 80: %.1f calls/s, half within %v, 95 %% within %v; shares of the others %.2f; use %.1f %%; own 429s %d",
		small, ms(percentile(waits, 50)), ms(percentile(waits, 95)), big, 100*r.rate(from, to)/limitRate, r.violations())
}

// High priority of one replica goes before normal of the others.
func TestHighFirst(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	r.startAll(redis.URL(), redis.URL(), redis.URL())
	normal := []*callers{r.call(r.relays[0], habit{n: 40}), r.call(r.relays[1], habit{n: 40})}
	high := r.call(r.relays[2], habit{n: 6, think: 300 * time.Millisecond, high: true})
	time.Sleep(3 * time.Second)
	from := time.Now()
	time.Sleep(10 * time.Second)
	to := time.Now()
	h := high.took(from, to.Add(-2*time.Second))
	n := append(normal[0].took(from, to.Add(-3*time.Second)), normal[1].took(from, to.Add(-3*time.Second))...)
	slices.Sort(n)
	if float64(len(h)) < least(80) || percentile(h, 95) > longestOf(500*time.Millisecond) || percentile(n, 50) < 2*percentile(h, 50) && !starved() {
		t.Errorf("high: %d calls, 95 %% within %v; normal: half within %v", len(h), percentile(h, 95), percentile(n, 50))
	}
	if float64(len(n)) < least(100) {
		t.Errorf("normal calls: %d", len(n))
	}
	r.most(0)
	r.noFailures(append(normal, high)...)
	measured(t, "high: half within %v, 95 %% within %v; normal of other replicas: half within %v; own 429s %d", ms(percentile(h, 50)), ms(percentile(h, 95)), ms(percentile(n, 50)), r.violations())
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// Replicas that are nearly as far from the store as they may be use the limit, and
// don't lose the store for it.
func TestFarFromTheStore(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	var urls []string
	for range 3 {
		w := newWay(t, redis.Addr)
		w.set(condition{delay: 45 * time.Millisecond / 2})
		urls = append(urls, w.url())
	}
	r.startAll(urls...)
	all := r.backlog(24)
	time.Sleep(3 * time.Second)
	from := time.Now()
	time.Sleep(8 * time.Second)
	use := r.rate(from, time.Now()) / limitRate
	if use < least(0.8) {
		t.Errorf("use of the limit %.1f %%", 100*use)
		r.tell()
	}
	r.most(0)
	r.noFailures(all...)
	measured(t, "45 ms from the store: use %.1f %%; own 429s %d; store lost %d times", 100*use, r.violations(), r.losses())
}
