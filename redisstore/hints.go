package redisstore

import (
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"riftrelay/limit"
)

// hintEvery is how often a silent subscription is tried.
const hintEvery = 3 * time.Second

// Hints is limit.Store.Hints. After each new subscription AnyBudget comes:
// hints may have been missed.
func (s *Store) Hints() <-chan limit.Budget {
	c := make(chan limit.Budget, 64)
	s.mu.Lock()
	first := len(s.hints) == 0
	closed := s.closed
	if closed {
		close(c)
	} else {
		s.hints = append(s.hints, c)
	}
	s.mu.Unlock()
	if first && !closed {
		s.start(s.listen)
	}
	return c
}

// listen passes on hints until Close. The client subscribes again by itself
// after an interruption; a new client needs a new subscription.
func (s *Store) listen() {
	for s.ctx.Err() == nil {
		subscription := s.link.client().Subscribe(s.ctx, s.o.Prefix+"hints")
		s.receive(subscription)
		_ = subscription.Close() // there is nothing to be lost
		select {
		case <-s.ctx.Done():
		case <-time.After(probeFirst):
		}
	}
}

func (s *Store) receive(subscription *redis.PubSub) {
	messages := subscription.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(hintEvery))
	renewed := s.link.renewals()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-renewed:
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			switch m := m.(type) {
			case *redis.Subscription:
				s.hint(limit.AnyBudget)
			case *redis.Message:
				s.hint(budgetOf(m.Payload))
			}
		}
	}
}

func budgetOf(name string) limit.Budget {
	i := strings.LastIndexByte(name, '|')
	if i < 0 {
		return limit.AnyBudget
	}
	return limit.Budget{Key: name[:i], Host: name[i+1:]}
}

func (s *Store) hint(b limit.Budget) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.hints {
		select {
		case c <- b:
		default: // hints may get lost
		}
	}
}
