package redisstore

import (
	"context"
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/limittest"
)

// clocked is a store without deadlines, whose time is the test's.
type clocked struct{ bare }

func (c clocked) usable(ctx context.Context) error {
	if c.isClosed() {
		return limit.ErrStoreClosed
	}
	return ctx.Err()
}

func (c clocked) Admit(ctx context.Context, ask *limit.Ask) (limit.Reply, error) {
	if err := c.usable(ctx); err != nil {
		return limit.Reply{}, err
	}
	return c.bare.Admit(ask)
}

func (c clocked) Beat(ctx context.Context, replica string, keys []limit.KeyHealth) (limit.Peers, error) {
	if err := c.usable(ctx); err != nil {
		return limit.Peers{}, err
	}
	return c.bare.Beat(replica, keys)
}

// harness returns an empty store at a time that set sets, in ms.
func harness(t testing.TB, s *Store, set func(ms int64), lose func()) limittest.Harness {
	now := int64(1_790_000_000_000)
	set(now)
	select { // until there is a subscription hints get lost
	case <-s.Hints(t.Context()):
	case <-time.After(20 * time.Second):
		t.Fatal("no subscription")
	}
	return limittest.Harness{
		Store: clocked{bare{s, &now}},
		Wait:  func(d time.Duration) { now += d.Milliseconds(); set(now) },
		Now:   func() time.Duration { return time.Duration(now) * time.Millisecond },
		Lose:  lose,
	}
}

func TestContract(t *testing.T) {
	t.Run("real", func(t *testing.T) {
		server := startServer(t)
		onServer := func(t testing.TB) limittest.Harness {
			return harness(t, realWithClock(t, server), func(int64) {}, func() { server.do("FLUSHALL") })
		}
		limittest.Run(t, onServer)
		t.Run("against the model", func(t *testing.T) { limittest.Check(t, onServer, 1, 10_000/thin) })
	})
	t.Run("miniredis", func(t *testing.T) {
		limittest.Run(t, func(t testing.TB) limittest.Harness {
			mini := startMini(t)
			set := func(ms int64) { mini.SetTime(time.UnixMilli(ms)) }
			return harness(t, patient(t, "redis://"+mini.Addr(), nil), set, mini.FlushAll)
		})
	})
}
