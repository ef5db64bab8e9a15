// Package memstore is the reference for a limit.Store: it keeps the charges of
// the replicas of one process in memory. Package redisstore does the same over
// Redis, and both pass the suite of limittest.
package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"riftrelay/internal/fanout"
	"riftrelay/internal/limit"
)

// MemoryStore is a Store for the replicas of one process: the reference for
// others, and for tests.
type MemoryStore struct {
	clock func() limit.Instant

	mu      sync.Mutex
	closed  bool
	budgets map[limit.Budget]*ledger
	peers   map[string]millis // when last heard of
	keys    map[keyTrait]keyHealth
	hints   fanout.List[limit.Hint] // zero: AnyBudget
}

type keyTrait struct {
	key string
	of  limit.KeyTrait
}

type keyHealth struct {
	is    bool
	since millis
}

// keyLasts is how long what is said of a key is kept. Who still finds the key so
// says it again when the store has forgotten it; then it is half as old, at the
// most. So nothing stays of keys that nobody has any longer.
const keyLasts = 24 * time.Hour

// NewMemoryStore makes a store without charges. clock returns the time; it is
// called with a lock held.
func NewMemoryStore(clock func() limit.Instant) *MemoryStore {
	return &MemoryStore{
		clock: clock, budgets: map[limit.Budget]*ledger{}, peers: map[string]millis{}, keys: map[keyTrait]keyHealth{},
	}
}

// now returns the time in the store's unit. Its zero means "never".
func (m *MemoryStore) now() millis { return int64(m.clock())/1_000_000 + 1 }

// Admit is Store.Admit.
func (m *MemoryStore) Admit(ctx context.Context, ask *limit.Ask) (limit.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return limit.Reply{}, err
	}
	l := m.ledger(ask)
	r, news := l.admit(m.now(), ask)
	if news {
		m.hints.Tell(limit.Hint{Budget: ask.Budget})
	}
	return r, nil
}

func (m *MemoryStore) usable(ctx context.Context) error {
	if m.closed {
		return limit.ErrStoreClosed
	}
	return ctx.Err()
}

func (m *MemoryStore) ledger(ask *limit.Ask) *ledger {
	l := m.budgets[ask.Budget]
	if l == nil {
		l = newLedger(m.now(), ask.Budget.Key == "", ask.Margin, ask.Assumed)
		m.budgets[ask.Budget] = l
		m.hints.Tell(limit.Hint{Budget: ask.Budget, Epoch: l.epoch})
	}
	return l
}

// Beat is Store.Beat.
func (m *MemoryStore) Beat(ctx context.Context, replica string, keys []limit.KeyHealth) (limit.Peers, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return limit.Peers{}, err
	}
	now := m.now()
	m.peers[replica] = now
	for name, last := range m.peers {
		if now-last >= limit.PeerTimeout.Milliseconds() {
			delete(m.peers, name)
		}
	}
	for trait, k := range m.keys {
		if now-k.since >= keyLasts.Milliseconds() {
			delete(m.keys, trait)
		}
	}
	for _, k := range keys {
		trait := keyTrait{k.Key, k.Of}
		if had, ok := m.keys[trait]; !ok || had.is != k.Is {
			m.keys[trait] = keyHealth{k.Is, now - min(k.For, keyLasts/2).Milliseconds()}
			m.hints.Tell(limit.Hint{Beat: true})
		}
	}
	p := limit.Peers{Live: len(m.peers)}
	for name := range m.peers {
		if name < replica {
			p.Rank++
		}
	}
	for trait, k := range m.keys {
		p.Keys = append(p.Keys, limit.KeyHealth{Key: trait.key, Of: trait.of, Is: k.is, For: fromMillis(now - k.since)})
	}
	slices.SortFunc(p.Keys, func(a, b limit.KeyHealth) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Of, b.Of)) })
	return p, nil
}

// Hints is Store.Hints.
func (m *MemoryStore) Hints(ctx context.Context) <-chan limit.Hint {
	c, _ := m.hints.Listen(ctx)
	return c
}

// Close is Store.Close.
func (m *MemoryStore) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.hints.Close()
	return nil
}

// Forget loses everything, as a store that is restarted empty does: for tests.
func (m *MemoryStore) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.budgets)
	clear(m.keys)
	clear(m.peers)
}
