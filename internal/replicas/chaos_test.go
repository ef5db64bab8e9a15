package replicas

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"riftrelay/riotsim"
)

var chaosSeed = flag.Uint64("chaos", 0, "seed of TestChaos and TestHours; 0 = a new one")

// stormy is a rig with a chaos proxy on each way: from clients to each relay,
// from all relays to Riot, from each relay to the store.
type stormy struct {
	*rig
	seed     uint64
	fronts   []*chaos
	up       *chaos
	stores   []*chaos
	keys     string // the file of keys
	replaced int
}

const otherKey = canary + "-2"

// newStormy starts relays that share a key and a store, with bounds that are
// short enough to be met.
func newStormy(t *testing.T, relays int, store string) *stormy {
	t.Helper()
	s := &stormy{rig: newRig(t, limitText, "RIOT_TOKEN=", tolerant, "ADMISSION_TIMEOUT=6s", "UPSTREAM_TIMEOUT=2s"), seed: *chaosSeed}
	if s.seed == 0 {
		s.seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d: repeat with -chaos %d", s.seed, s.seed)
	s.keys = filepath.Join(t.TempDir(), "keys")
	s.replaceKey()
	s.vars = append(s.vars, "RIOT_TOKEN_FILE="+s.keys)
	s.up = newChaos(t, s.upstream[len("http://"):], s.seed, 3<<10, 5*time.Second)
	s.upstream = "http://" + s.up.addr()
	for i := range relays {
		way := newChaos(t, store, s.seed+uint64(i)+1, 4<<10, time.Hour)
		p := s.start("redis://" + way.addr())
		s.stores = append(s.stores, way)
		s.fronts = append(s.fronts, newChaos(t, p.front[len("http://"):], s.seed+uint64(i)+10, 3<<10, 2*time.Second))
	}
	s.meet()
	return s
}

// replaceKey puts the other of two keys into the file, under the same name.
func (s *stormy) replaceKey() {
	s.t.Helper()
	key := []string{canary, otherKey}[s.replaced%2]
	s.replaced++
	if err := os.WriteFile(s.keys+".new", []byte("main="+key+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.keys+".new", s.keys); err != nil {
		s.t.Fatal(err)
	}
}

// set makes all ways wild or calm.
func (s *stormy) set(wild bool) {
	for _, list := range [][]*chaos{s.fronts, {s.up}, s.stores} {
		for _, c := range list {
			c.set(wild)
		}
	}
}

// mix has clients call each relay.
func (s *stormy) mix(n int) (all []*mixed) {
	for i, front := range s.fronts {
		all = append(all, mix(s.t, front.addr(), n, s.seed+uint64(i)))
	}
	return all
}

// idle ends all calls and connections, and returns what each relay then holds.
func (s *stormy) idle(all []*mixed) (levels []level) {
	s.t.Helper()
	for _, m := range all {
		m.end()
	}
	eventually(s.t, "relay without a call", func() bool {
		for _, p := range s.relays {
			if st := p.state(); st == nil || st.InFlight+st.Queued > 0 {
				return false
			}
		}
		return true
	})
	for _, c := range append(s.fronts, s.up) {
		c.breakAll()
	}
	http.DefaultClient.CloseIdleConnections()
	time.Sleep(500 * time.Millisecond)
	for _, p := range s.relays {
		levels = append(levels, p.level(s.t))
	}
	return levels
}

// asBefore fails the test if relays hold more than at an earlier moment.
func (s *stormy) asBefore(before []level) {
	s.t.Helper()
	for i, p := range s.relays {
		var now level
		eventually(s.t, fmt.Sprint("relay that holds no more than ", before[i]), func() bool {
			now = p.level(s.t)
			return now.goroutines <= before[i].goroutines+4 && now.files <= before[i].files+4
		})
		if more := now.rss - before[i].rss; more > 40e6 {
			s.t.Errorf("RSS %.1f MB, %.1f MB at the start", now.rss/1e6, before[i].rss/1e6)
		}
		measured(s.t, "relay %d: %v; at the start %v", i, now, before[i])
	}
}

// judgeEdge judges by the edge's own counters.
func (s *stormy) judgeEdge(most int) riotsim.Report {
	s.t.Helper()
	r := s.edge.Report()
	if r.Violations > most {
		s.t.Errorf("%d own 429s; want %d at most", r.Violations, most)
	}
	for _, iv := range s.edge.WorstIntervals() {
		if iv.Calls > iv.Limit.N+most {
			s.t.Errorf("over the limit by more than %d: %+v", most, iv)
		}
	}
	return r
}

// Whatever becomes of connections on all three ways, no limit is exceeded, each
// client gets an answer or an error in time, and what remains is nothing.
func TestChaos(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	s := newStormy(t, 1, redis.Addr)
	all := s.mix(40)
	time.Sleep(2 * time.Second)
	before := s.idle(all)
	all = s.mix(40)
	time.Sleep(time.Second)
	s.set(true)
	time.Sleep(time.Duration(repeats(20)) * 8 * time.Second)
	s.set(false)
	full := s.untilFull(time.Now())
	if full > longestOf(2*window) {
		t.Errorf("the limit is used in full %v after chaos ended; want %v at most", full, 2*window)
	}
	s.idle(all)
	s.asBefore(before)
	r := s.judgeEdge(0)
	t.Logf("%s", all[0].tell(t))
	t.Logf("connections of clients: %s; to Riot: %s; to the store: %s", s.fronts[0].tell(), s.up.tell(), s.stores[0].tell())
	measured(t, "chaos: %d calls at Riot, %d own 429s, the store lost %d times, full rate %v after it ended", r.Arrived, r.Violations, s.losses(), ms(full))
}
