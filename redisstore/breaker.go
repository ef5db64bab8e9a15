package redisstore

import (
	"context"
	"sync"
	"time"
)

// breaker keeps callers from waiting for a server that is away. The first
// failure opens it; it is closed again by a probe.
type breaker struct {
	store *Store

	mu  sync.Mutex
	err *AwayError // why it is open; nil while it isn't
}

// The first probe comes probeFirst after the failure, each later one after
// twice as long, up to probeMost.
const (
	probeFirst = 20 * time.Millisecond
	probeMost  = time.Second
)

// probePatience is how many times Options.Timeout a probe may take: TCP's
// handshake, that of TLS, the password, the database and the script are ways
// there and back of their own, for which a call would have no time.
const probePatience = 6

func (b *breaker) check() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	return nil
}

func (b *breaker) state() (State, error) {
	if err := b.check(); err != nil {
		return Away, err
	}
	return Up, nil
}

// open opens it. The server is looked for where key lies.
func (b *breaker) open(err *AwayError, key string) {
	b.mu.Lock()
	was := b.err
	b.err = err
	b.mu.Unlock()
	if was != nil {
		return // a call that was under way; one probe is enough
	}
	b.tell(Away, err)
	b.store.start(func() { b.probe(key) })
}

func (b *breaker) probe(key string) {
	s := b.store
	for wait := probeFirst; ; wait = min(2*wait, probeMost) {
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(wait):
		}
		err := s.probe(s.ctx, key)
		b.mu.Lock()
		if err == nil {
			b.err = nil
		} else {
			b.err = away(err, s.link.secrets)
		}
		b.mu.Unlock()
		if err == nil {
			b.tell(Up, nil)
			return
		}
	}
}

func (b *breaker) tell(state State, err error) {
	if f := b.store.o.OnState; f != nil {
		f(state, err)
	}
}

// probe shows whether the server does what calls need.
func (s *Store) probe(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, probePatience*s.o.Timeout)
	defer cancel()
	_, err := s.run(ctx, s.scripts.probe, key+":probe")
	return err
}
