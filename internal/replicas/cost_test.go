package replicas

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"riftrelay/internal/redisserver"
)

// used is what scripts have cost a server until now.
type used struct {
	calls int
	cpu   time.Duration // of the process
}

func usedBy(t *testing.T, s *redisserver.Server) (u used) {
	t.Helper()
	for _, m := range regexp.MustCompile(`cmdstat_(?:evalsha|eval):calls=(\d+)`).FindAllStringSubmatch(fmt.Sprint(do(t, s, "INFO", "commandstats")), -1) {
		n, _ := strconv.Atoi(m[1])
		u.calls += n
	}
	for _, m := range regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`).FindAllStringSubmatch(fmt.Sprint(do(t, s, "INFO", "cpu")), -1) {
		seconds, _ := strconv.ParseFloat(m[1], 64)
		u.cpu += time.Duration(seconds * 1e9)
	}
	return u
}

// A line of 2,000 costs the store no more than one of 10.
func TestCostOfQueues(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	r.startAll(redis.URL(), redis.URL())
	perSecond := func(waiters int) (calls, cpu float64) {
		first, second := r.call(r.relays[0], habit{n: waiters / 2}), r.call(r.relays[1], habit{n: waiters / 2})
		defer first.end()
		defer second.end()
		time.Sleep(4 * time.Second) // until all of them wait
		before := usedBy(t, redis)
		began := time.Now()
		time.Sleep(5 * time.Second)
		after := usedBy(t, redis)
		n := after.calls - before.calls
		return float64(n) / time.Since(began).Seconds(), float64((after.cpu - before.cpu).Microseconds()) / float64(n)
	}
	few, fewCPU := perSecond(10)
	many, manyCPU := perSecond(2000)
	if many > 1.5*few+5 && !busy() {
		t.Errorf("2,000 waiters: %.0f calls/s of the store; 10: %.0f", many, few)
	}
	r.most(0)
	measured(t, "at 50 calls/s of Riot's: 10 waiters %.1f calls/s of the store at %.0f µs, 2,000 waiters %.1f at %.0f µs, all that the server does included", few, fewCPU, many, manyCPU)
}

// The more calls a key may make, the more of them one question of the store is
// for: with 2,000/s each costs it no more than 30 µs.
func TestCostOfABusyKey(t *testing.T) {
	t.Parallel()
	rates := []int{500}
	if *long {
		rates = []int{500, 1000, 2000}
	}
	redis := startRedis(t)
	for _, rate := range rates {
		r := newRig(t, fmt.Sprintf("%d:10", 10*rate))
		r.startAll(redis.URL(), redis.URL(), redis.URL())
		all := r.backlog(150)
		time.Sleep(12 * time.Second) // until a window is full
		before, from := usedBy(t, redis), time.Now()
		time.Sleep(5 * time.Second)
		after, to := usedBy(t, redis), time.Now()
		accepted := float64(r.accepted(from, to))
		asked := float64(after.calls - before.calls)
		perCall := float64((after.cpu - before.cpu).Microseconds()) / accepted
		if (asked > accepted/2 || rate == 2000 && perCall > 30) && !busy() {
			t.Errorf("%.0f calls were accepted, for which the store was asked %.0f times, at %.0f µs for each call", accepted, asked, perCall)
		}
		r.most(0)
		r.noFailures(all...)
		measured(t, "at %.0f calls/s of Riot's with one key: %.1f calls/s of the store, %.0f µs of its processor for each of Riot's, all that the server does included",
			accepted/to.Sub(from).Seconds(), asked/to.Sub(from).Seconds(), perCall)
		for _, c := range all {
			c.end()
		}
		for _, p := range r.relays {
			p.kill()
		}
		do(t, redis, "FLUSHALL")
	}
}

// A call at a quiet time waits for one way to the store and back, no longer.
func TestAddedWait(t *testing.T) {
	t.Parallel()
	const trip = 20 * time.Millisecond
	redis := startRedis(t)
	w := newWay(t, redis.Addr)
	w.set(condition{delay: trip / 2})
	one, many := newRig(t, limitText, "PACING=burst"), newRig(t, limitText, "PACING=burst")
	one.start("")
	many.startAll(w.url(), w.url())
	mean := func(c *callers, from time.Time) time.Duration {
		list, sum := c.took(from, time.Now()), time.Duration(0)
		if len(list) < 2 {
			t.Fatalf("%d calls", len(list))
		}
		list = list[:len(list)*9/10] // a machine that is busy with something else for once isn't meant
		for _, d := range list {
			sum += d
		}
		return sum / time.Duration(len(list))
	}
	rare := habit{n: 1, think: 100 * time.Millisecond}
	alone, shared := one.call(one.relays[0], rare), many.call(many.relays[0], rare)
	time.Sleep(3 * time.Second)
	from := time.Now()
	time.Sleep(8 * time.Second)
	a, s := mean(alone, from), mean(shared, from)
	if added := s - a; added > longestOf(trip+5*time.Millisecond) {
		t.Errorf("calls take %v, without a store %v: %v more, with %v to the store and back", s, a, added, trip)
	}
	one.most(0)
	many.most(0)
	measured(t, "20 ms from the store: a call at a quiet time takes %v, without a store %v", s.Round(100*time.Microsecond), a.Round(100*time.Microsecond))
}
