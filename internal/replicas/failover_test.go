package replicas

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"riftrelay/internal/redisserver"
)

// sentinels starts three that watch a primary.
func sentinels(t *testing.T, primary *redisserver.Server) (list []*redisserver.Server, url string) {
	t.Helper()
	var addrs []string
	for range 3 {
		s := startRedis(t,
			"sentinel monitor main 127.0.0.1 "+primary.Port()+" 2",
			"sentinel down-after-milliseconds main 1000",
			"sentinel failover-timeout main 5000",
			"--sentinel")
		list, addrs = append(list, s), append(addrs, s.Addr)
	}
	return list, "redis+sentinel://" + strings.Join(addrs, ",") + "/main"
}

// primaryBy is what a Sentinel takes for the primary.
func primaryBy(t *testing.T, sentinel *redisserver.Server) string {
	t.Helper()
	parts, ok := do(t, sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main").([]any)
	if !ok || len(parts) != 2 {
		t.Fatalf("the primary is %v", parts)
	}
	return net.JoinHostPort(fmt.Sprint(parts[0]), fmt.Sprint(parts[1]))
}

// follow makes a server the replica of another, and waits until it is.
func follow(t *testing.T, s, primary *redisserver.Server) {
	t.Helper()
	do(t, s, "REPLICAOF", "127.0.0.1", primary.Port())
	eventually(t, "copy of the primary", func() bool {
		return strings.Contains(fmt.Sprint(do(t, s, "INFO", "replication")), "master_link_status:up")
	})
}

// When the primary dies and Sentinel makes its copy the primary, no call fails.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary, replica := startRedis(t), startRedis(t)
	follow(t, replica, primary)
	watch, url := sentinels(t, primary)
	eventually(t, "Sentinels that know of each other and of the copy", func() bool {
		for _, s := range watch {
			text := fmt.Sprint(do(t, s, "INFO", "sentinel"))
			if !strings.Contains(text, "slaves=1,sentinels=3") {
				return false
			}
		}
		return true
	})
	r := newRig(t, limitText)
	r.startAll(url, url, url)
	all := r.backlog(24)
	time.Sleep(3 * time.Second)
	n := repeats(5)
	r.planned = n
	var took, back []time.Duration
	used := 1.0
	for range n {
		primary.Kill()
		killed := time.Now()
		eventually(t, "failover", func() bool { return primaryBy(t, watch[0]) == replica.Addr && primaryBy(t, watch[1]) == replica.Addr })
		r.meet()
		took = append(took, time.Since(killed))
		used = min(used, r.rate(killed, time.Now())/limitRate)
		back = append(back, r.untilFull(time.Now()))
		if err := primary.Start(); err != nil {
			t.Fatal(err)
		}
		follow(t, primary, replica)
		primary, replica = replica, primary
		if *long {
			time.Sleep(12 * time.Second) // Sentinel makes no second failover at once
		}
	}
	if used < least(0.68) {
		t.Errorf("use of the limit %.1f %% while no primary is there", 100*used)
	}
	r.most(5 * n) // what was granted in the last 100 ms
	r.noFailures(all...)
	measured(t, "Sentinel failover × %d: replicas know the new primary after %v at most, use %.1f %% until then, full rate %v later; own 429s %d; fullest interval %d",
		n, longest(took), 100*used, longest(back), r.violations(), r.worst())
}

// Some replicas are still with the old primary while the others have gone to
// the new one.
func TestOldPrimary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		most int
	}{
		{"alone it refuses", []string{"--min-replicas-to-write", "1", "--min-replicas-max-lag", "1"}, 100},
		{"alone it goes on", nil, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			old, fresh := startRedis(t, c.args...), startRedis(t)
			follow(t, fresh, old)
			eventually(t, "copy that counts", func() bool {
				return len(c.args) == 0 || strings.Contains(fmt.Sprint(do(t, old, "INFO", "replication")), "min_slaves_good_slaves:1")
			})
			r := newRig(t, limitText, tolerant)
			var ways []*way
			var urls []string
			for range 3 {
				w := newWay(t, old.Addr)
				ways, urls = append(ways, w), append(urls, w.url())
			}
			r.startAll(urls...)
			all := r.backlog(24)
			time.Sleep(3 * time.Second)
			do(t, fresh, "REPLICAOF", "NO", "ONE")
			ways[1].lead(fresh.Addr)
			ways[2].lead(fresh.Addr)
			split := time.Now()
			time.Sleep(5 * time.Second)
			ways[0].lead(fresh.Addr)
			old.Kill()
			healed := time.Now()
			use := r.rate(split, healed) / limitRate
			r.meet()
			full := r.untilFull(healed)
			time.Sleep(window)
			r.most(c.most)
			r.noFailures(all...)
			measured(t, "an old primary beside the new one for 5 s, %s: use %.1f %%, full rate after %v; own 429s %d; fullest interval %d", c.name, 100*use, ms(full), r.violations(), r.worst())
		})
	}
}
