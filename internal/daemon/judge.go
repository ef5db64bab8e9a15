package daemon

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"riftrelay"
	"riftrelay/internal/limit"
	"riftrelay/internal/memstore"
	"riftrelay/internal/redisserver"
)

// judge is what the relays of a demo share. The zero value is none.
type judge struct {
	name   string      // for people
	url    string      // of the server; "" = there is none
	store  limit.Store // in its place, in this process
	server *redisserver.Server
	dir    string
}

// newJudge starts a redis-server, or, where there is none, makes a store in
// memory: the same rules, but it ends at the process.
func newJudge() (judge, error) {
	bin, err := redisserver.Find()
	if errors.Is(err, redisserver.ErrNone) {
		began := time.Now()
		store := memstore.NewMemoryStore(func() limit.Instant { return limit.Instant(time.Since(began)) })
		return judge{name: "a store in memory, for there is no redis-server here", store: keptOpen{store}}, nil
	}
	if err != nil {
		return judge{}, err
	}
	dir, err := os.MkdirTemp("", "riftrelay-demo")
	if err != nil {
		return judge{}, err
	}
	j := judge{name: "a redis-server", dir: dir}
	if j.server, err = redisserver.New(bin, dir); err == nil {
		err = j.server.Start()
	}
	if err != nil {
		j.close()
		return judge{}, err
	}
	j.url = j.server.URL()
	return j, nil
}

// keptOpen is a store that none of those who share it may close.
type keptOpen struct{ limit.Store }

// Close does nothing.
func (keptOpen) Close() error { return nil }

// says is what there is to say of it at first.
func (j judge) says(replicas int) string {
	if j.name == "" {
		return ""
	}
	return fmt.Sprintf("; %d relays share %s", replicas, j.name)
}

// close ends it.
func (j judge) close() {
	if s, ok := j.store.(keptOpen); ok {
		_ = s.Store.Close() // never fails
	}
	if j.server != nil {
		j.server.Kill()
	}
	if j.dir != "" {
		_ = os.RemoveAll(j.dir) // of no harm where it stays
	}
}

// together is what several relays tell, as if they were one: what waits in any
// of them, and of each limit the fullest account.
func together(all []riftrelay.Snapshot) riftrelay.Snapshot {
	if len(all) == 1 {
		return all[0]
	}
	type id struct{ key, host, method string }
	var sum riftrelay.Snapshot
	at := map[id]int{}
	for _, s := range all {
		sum.Queued += s.Queued
		sum.InFlight += s.InFlight
		sum.Queues = append(sum.Queues, s.Queues...)
		for _, scope := range s.Scopes {
			name := id{scope.Key, scope.Host, scope.Method}
			i, seen := at[name]
			switch {
			case !seen:
				at[name] = len(sum.Scopes)
				sum.Scopes = append(sum.Scopes, scope)
			case fuller(scope, sum.Scopes[i]):
				sum.Scopes[i] = scope
			}
		}
	}
	return sum
}

func fuller(a, b riftrelay.ScopeState) bool {
	if len(a.Windows) == 0 || len(b.Windows) == 0 {
		return len(b.Windows) == 0
	}
	return a.Windows[0].Used > b.Windows[0].Used
}

// storeOf tells how the store is, as the replicas see it.
func storeOf(all []riftrelay.Snapshot, j judge) string {
	if j.name == "" {
		return ""
	}
	var trip time.Duration
	for _, s := range all {
		switch {
		case s.Store == nil:
		case s.Store.Away != "":
			return j.name + ": " + s.Store.Away
		default:
			trip = max(trip, s.Store.Trip)
		}
	}
	name, _, _ := strings.Cut(j.name, ", for")
	return fmt.Sprintf("share %s, %.1f ms away", name, float64(trip.Microseconds())/1000)
}
