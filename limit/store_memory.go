package limit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// MemoryStore is a Store for the replicas of one process: the reference for
// others, and for tests.
type MemoryStore struct {
	clock func() Instant

	mu      sync.Mutex
	closed  bool
	budgets map[Budget]*ledger
	peers   map[string]millis // when last heard of
	keys    map[keyTrait]keyHealth
	hints   []chan Budget
}

type keyTrait struct {
	key string
	of  KeyTrait
}

type keyHealth struct {
	is    bool
	since millis
}

// ErrStoreClosed is the error of a Store that was closed.
var ErrStoreClosed = errors.New("limit: the store is closed")

// NewMemoryStore makes a store without charges. clock gives the time; it is
// called with a lock held.
func NewMemoryStore(clock func() Instant) *MemoryStore {
	return &MemoryStore{
		clock: clock, budgets: map[Budget]*ledger{}, peers: map[string]millis{}, keys: map[keyTrait]keyHealth{},
	}
}

// now gives the time in the store's unit. Its zero means "never".
func (m *MemoryStore) now() millis { return int64(m.clock())/1_000_000 + 1 }

// Admit is Store.Admit.
func (m *MemoryStore) Admit(ctx context.Context, ask *Ask) (Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return Reply{}, err
	}
	l := m.ledger(ask)
	r, news := l.admit(m.now(), ask)
	if news {
		m.hint(ask.Budget)
	}
	return r, nil
}

func (m *MemoryStore) usable(ctx context.Context) error {
	if m.closed {
		return ErrStoreClosed
	}
	return ctx.Err()
}

func (m *MemoryStore) ledger(ask *Ask) *ledger {
	l := m.budgets[ask.Budget]
	if l == nil {
		l = newLedger(m.now(), ask.Budget.Key == "", ask.Margin, ask.Assumed)
		m.budgets[ask.Budget] = l
		m.hint(AnyBudget)
	}
	return l
}

// Beat is Store.Beat.
func (m *MemoryStore) Beat(ctx context.Context, replica string, keys []KeyHealth) (Peers, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return Peers{}, err
	}
	now := m.now()
	m.peers[replica] = now
	for name, last := range m.peers {
		if now-last >= PeerTimeout.Milliseconds() {
			delete(m.peers, name)
		}
	}
	for _, k := range keys {
		trait := keyTrait{k.Key, k.Of}
		if had, ok := m.keys[trait]; !ok || had.is != k.Is {
			m.keys[trait] = keyHealth{k.Is, now - k.For.Milliseconds()}
			m.hint(AnyBudget)
		}
	}
	p := Peers{Live: len(m.peers)}
	for trait, k := range m.keys {
		p.Keys = append(p.Keys, KeyHealth{Key: trait.key, Of: trait.of, Is: k.is, For: fromMillis(now - k.since)})
	}
	slices.SortFunc(p.Keys, func(a, b KeyHealth) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Of, b.Of)) })
	return p, nil
}

// Hints is Store.Hints.
func (m *MemoryStore) Hints() <-chan Budget {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := make(chan Budget, 64)
	if m.closed {
		close(c)
	} else {
		m.hints = append(m.hints, c)
	}
	return c
}

func (m *MemoryStore) hint(b Budget) {
	for _, c := range m.hints {
		select {
		case c <- b:
		default: // hints may get lost
		}
	}
}

// Close is Store.Close.
func (m *MemoryStore) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		for _, c := range m.hints {
			close(c)
		}
		m.hints = nil
	}
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
