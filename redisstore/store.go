package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"riftrelay/internal/fanout"
	"riftrelay/internal/limit"
)

// Options say where the server is. One of URL and Client is needed.
type Options struct {
	// URL of the server, see ParseURL.
	URL string

	// Client is used instead of a URL; Close leaves it open. Its
	// ContextTimeoutEnabled has to be true. Whatever its MaxRetries, no call is
	// sent twice.
	Client redis.UniversalClient

	// Prefix begins all names in the server. Empty: "riftrelay:".
	Prefix string

	// Timeout bounds connecting and writing; reading takes up to half as long again,
	// and a call as a whole twice as long. 0: 50 ms.
	Timeout time.Duration

	// OnState is called when the server goes away, with the reason, and when it
	// is back, with nil. It must not block.
	OnState func(State, error)

	// OnCall is called after each call: "admit" or "beat", how long it
	// took, and its error. It must not block.
	OnCall func(op string, took time.Duration, err error)
}

// State is whether the server answers.
type State int

// The states.
const (
	Up State = iota
	Away
)

// String returns "up" or "away".
func (s State) String() string {
	if s == Up {
		return "up"
	}
	return "away"
}

// Store is a limit.Store in Redis or Valkey. All methods are safe for
// concurrent use.
type Store struct {
	o       Options
	scripts scripts
	layout  int // of budgets
	link    link
	breaker breaker

	ctx    context.Context // until Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	clocks map[int]*serverClock // by slot: those of a cluster lie on several servers

	hints     fanout.List[limit.Hint] // the zero hint is of AnyBudget
	listening sync.Once

	databases databases // of the same server, with relays in them
}

var _ limit.Store = (*Store)(nil)

// New makes a Store. A server that can't be reached is no error: the store is
// away until it can. ctx bounds the first try.
func New(ctx context.Context, o Options) (*Store, error) {
	return newStore(ctx, o, productionScripts)
}

func newStore(ctx context.Context, o Options, scripts scripts) (*Store, error) {
	o.Prefix = cmp.Or(o.Prefix, "riftrelay:")
	o.Timeout = cmp.Or(o.Timeout, 50*time.Millisecond)
	if o.Timeout < time.Millisecond {
		return nil, fmt.Errorf("redisstore: Timeout %v; allowed: 1 ms and more, or 0 for 50 ms", o.Timeout)
	}
	l, err := newLink(o)
	if err != nil {
		return nil, err
	}
	s := &Store{o: o, scripts: scripts, layout: thisLayout, link: l, clocks: map[int]*serverClock{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.breaker.store = s
	if err := s.probe(ctx, s.o.Prefix+peersTag); err != nil {
		s.breaker.open(away(err, s.link.secrets), s.o.Prefix+peersTag)
	}
	return s, nil
}

// peersTag is the hash tag of what doesn't belong to a budget.
const peersTag = "{rr}"

func nameOf(b limit.Budget) string { return b.Key + "|" + b.Host }

func (s *Store) keyOf(b limit.Budget) string { return s.o.Prefix + "{" + nameOf(b) + "}" + s.suffix() }

// State tells whether the server answers, and if not why.
func (s *Store) State() (State, error) { return s.breaker.state() }

// String names the server, without a password.
func (s *Store) String() string { return s.link.name }

// Admit is limit.Store.Admit. Its errors are ErrAway, *JumpError, limit.ErrStoreClosed
// and those of ctx.
func (s *Store) Admit(ctx context.Context, ask *limit.Ask) (r limit.Reply, err error) {
	defer s.observe("admit", time.Now(), &err)
	if err := checkBounds(ask); err != nil {
		return limit.Reply{}, err
	}
	key := s.keyOf(ask.Budget)
	clock := s.clock(key)
	if err := clock.pausing(time.Now()); err != nil {
		return limit.Reply{}, err
	}
	reply, err := s.call(ctx, clock, s.scripts.admit, key, nameOf(ask.Budget), encodeAsk(ask))
	if err != nil {
		return limit.Reply{}, err
	}
	if err := clock.pausing(time.Now()); err != nil {
		return limit.Reply{}, err
	}
	if r, err = decodeReply(ask, reply); err != nil {
		return limit.Reply{}, err
	}
	for _, v := range append(r.Views, r.App) {
		for _, w := range v.Windows {
			clock.sees(w.W)
		}
	}
	return r, nil
}

// Beat is limit.Store.Beat. Its errors are those of Admit
// without *JumpError.
func (s *Store) Beat(ctx context.Context, replica string, keys []limit.KeyHealth) (p limit.Peers, err error) {
	defer s.observe("beat", time.Now(), &err)
	var apart bool
	var apartErr error
	var layouts sync.WaitGroup // beside the other question: a beat takes one way there and back
	layouts.Go(func() { s.announce(ctx) })
	layouts.Go(func() { apart, apartErr = s.apart(ctx) })
	key := s.o.Prefix + peersTag
	reply, err := s.call(ctx, s.clock(key), s.scripts.beat, key, "", encodeBeat(replica, keys))
	layouts.Wait()
	if err != nil {
		return limit.Peers{}, err
	}
	if apartErr != nil {
		return limit.Peers{}, apartErr
	}
	p, err = decodePeers(reply)
	p.Apart, p.Elsewhere = apart, s.elsewhere()
	return p, err
}

func (s *Store) observe(op string, began time.Time, err *error) {
	if s.o.OnCall != nil {
		s.o.OnCall(op, time.Since(began), *err)
	}
}

func (s *Store) clock(key string) *serverClock {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := 0
	if _, single := s.link.client().(*redis.Client); !single {
		slot = slotOf(key)
	}
	c := s.clocks[slot]
	if c == nil {
		c = &serverClock{}
		s.clocks[slot] = c
	}
	return c
}

// Close is limit.Store.Close. Calls under way fail.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	err := s.link.close()
	s.work.Wait()
	s.hints.Close()
	return err
}

// start runs f in the background until Close; not after it.
func (s *Store) start(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(f)
	}
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// checkBounds keeps what one script does bounded.
func checkBounds(ask *limit.Ask) error {
	tooMany := func(what string, n, most int) error {
		return fmt.Errorf("redisstore: an Ask with %d %s; allowed: %d", n, what, most)
	}
	switch {
	case len(ask.Demands) > limit.MostDemands:
		return tooMany("demands", len(ask.Demands), limit.MostDemands)
	case len(ask.Done) > limit.MostDone:
		return tooMany("permits done", len(ask.Done), limit.MostDone)
	case len(ask.Facts) > limit.MostFacts:
		return tooMany("facts", len(ask.Facts), limit.MostFacts)
	}
	return nil
}

func sortKeys(keys []limit.KeyHealth) {
	slices.SortFunc(keys, func(a, b limit.KeyHealth) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Of, b.Of)) })
}

// errBroken is for an answer that no script of ours gives.
var errBroken = errors.New("redisstore: the server's answer has another form than the script's")
