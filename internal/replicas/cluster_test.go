package replicas

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"riftrelay/internal/redisserver"
)

// startCluster runs three nodes that share the slots.
func startCluster(t *testing.T) (nodes []*redisserver.Server, url string) {
	t.Helper()
	const slots = 16384
	var addrs []string
	for i := range 3 {
		s := startRedis(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "5000")
		nodes, addrs = append(nodes, s), append(addrs, s.Addr)
		args := []any{"CLUSTER", "ADDSLOTS"}
		for slot := i * slots / 3; slot < (i+1)*slots/3; slot++ {
			args = append(args, slot)
		}
		do(t, s, args...)
		do(t, s, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i > 0 {
			do(t, s, "CLUSTER", "MEET", "127.0.0.1", nodes[0].Port())
		}
	}
	eventually(t, "cluster", func() bool {
		for _, s := range nodes {
			text := fmt.Sprint(do(t, s, "CLUSTER", "INFO"))
			if !strings.Contains(text, "cluster_state:ok") || !strings.Contains(text, "cluster_known_nodes:3") {
				return false
			}
		}
		return true
	})
	return nodes, "redis+cluster://" + strings.Join(addrs, ",")
}

// where finds the node with the limits of our host, and their key.
func where(t *testing.T, nodes []*redisserver.Server) (i int, key string) {
	t.Helper()
	for i, s := range nodes {
		keys, ok := do(t, s, "KEYS", "riftrelay:{*|"+host+"}*").([]any)
		if ok && len(keys) == 1 {
			return i, fmt.Sprint(keys[0])
		}
	}
	t.Fatal("no node has the limits")
	return 0, ""
}

// The slot with the limits moves to another node, under load.
func TestClusterSlotMoves(t *testing.T) {
	t.Parallel()
	nodes, url := startCluster(t)
	r := newRig(t, limitText)
	r.startAll(url, url, url)
	all := r.backlog(24)
	time.Sleep(3 * time.Second)
	from := time.Now()
	for range repeats(5) + 1 {
		source, key := where(t, nodes)
		target := (source + 1) % len(nodes)
		slot, err := strconv.Atoi(fmt.Sprint(do(t, nodes[source], "CLUSTER", "KEYSLOT", key)))
		if err != nil {
			t.Fatal(err)
		}
		ids := []any{do(t, nodes[source], "CLUSTER", "MYID"), do(t, nodes[target], "CLUSTER", "MYID")}
		do(t, nodes[target], "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
		do(t, nodes[source], "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
		time.Sleep(500 * time.Millisecond) // calls go to the source
		do(t, nodes[source], "MIGRATE", "127.0.0.1", nodes[target].Port(), key, 0, 5000)
		time.Sleep(500 * time.Millisecond) // and are asked to go on to the target
		for _, i := range []int{target, source, (source + 2) % len(nodes)} {
			do(t, nodes[i], "CLUSTER", "SETSLOT", slot, "NODE", ids[1])
		}
		time.Sleep(2 * time.Second)
	}
	use := r.rate(from, time.Now()) / limitRate
	full := r.untilFull(time.Now())
	if use < least(0.7) {
		t.Errorf("use of the limit %.1f %%", 100*use)
	}
	r.most(0)
	r.noFailures(all...)
	s := r.relays[0].store()
	if s == nil || s.Away != "" && !busy() {
		t.Errorf("the store is %+v", s)
	}
	measured(t, "a slot moved twice under load: use %.1f %%, full rate after %v; own 429s %d; fullest interval %d; store lost %d times", 100*use, ms(full), r.violations(), r.worst(), r.losses())
}
