package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Relays whose URLs end with another number use another database of the same
// server, and share nothing. The channel of hints is the server's, whatever the
// database. So each tells there now and then in which it is: "@5". Relays before
// this version take that for a hint to beat, which does no harm.

const (
	announceEvery = 10 * time.Second
	elsewhereFor  = 3 * announceEvery // how long one is reckoned with
)

type databases struct {
	mu    sync.Mutex
	told  time.Time
	heard map[int]time.Time
}

// database returns the number of ours. A cluster has one alone.
func (s *Store) database() int {
	if c, ok := s.link.client().(*redis.Client); ok {
		return c.Options().DB
	}
	return 0
}

// announce tells other relays which database this one uses, if it is time.
func (s *Store) announce(ctx context.Context) {
	d := &s.databases
	d.mu.Lock()
	due := time.Since(d.told) >= announceEvery
	if due {
		d.told = time.Now()
	}
	d.mu.Unlock()
	if due {
		// A user without the right to publish does without.
		_ = s.link.client().Publish(ctx, s.o.Prefix+"hints", fmt.Sprint("@", s.database())).Err()
	}
}

// announced reports whether a message tells of a database, and notes it.
func (s *Store) announced(message string) bool {
	text, ok := strings.CutPrefix(message, "@")
	if !ok {
		return false
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n != s.database() {
		d := &s.databases
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.heard == nil {
			d.heard = map[int]time.Time{}
		}
		if len(d.heard) < 16 { // as many as servers have, unless told otherwise
			d.heard[n] = time.Now()
		}
	}
	return true
}

// elsewhere names the other databases in which there are relays.
func (s *Store) elsewhere() (list []string) {
	d := &s.databases
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.heard, func(_ int, at time.Time) bool { return time.Since(at) > elsewhereFor })
	for _, n := range slices.Sorted(maps.Keys(d.heard)) {
		list = append(list, fmt.Sprint("database ", n, ", not ", s.database()))
	}
	return list
}
