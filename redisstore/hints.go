package redisstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"riftrelay/internal/limit"
)

// hintEvery is how often a silent subscription is tried.
const hintEvery = 3 * time.Second

// Hints is limit.Store.Hints. After each new subscription comes one for
// AnyBudget: hints may have been missed.
func (s *Store) Hints(ctx context.Context) <-chan limit.Hint {
	c, _ := s.hints.Listen(ctx)
	s.listening.Do(func() { s.start(s.listen) })
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
				s.hints.Tell(limit.Hint{})
			case *redis.Message:
				if !s.announced(m.Payload) {
					s.hints.Tell(hintOf(m.Payload))
				}
			}
		}
	}
}

// hintOf reads a message: "key|host", "key|host epoch" of a new budget, or "*"
// where Beat has news.
func hintOf(message string) limit.Hint {
	i := strings.LastIndexByte(message, '|')
	if i < 0 {
		return limit.Hint{Beat: true}
	}
	h := limit.Hint{Budget: limit.Budget{Key: message[:i]}}
	host, epoch, _ := strings.Cut(message[i+1:], " ")
	h.Budget.Host = host
	h.Epoch, _ = strconv.ParseInt(epoch, 10, 64) // 0 where there is none
	return h
}
