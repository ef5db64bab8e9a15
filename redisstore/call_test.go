package redisstore

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"riftrelay/internal/limit"
)

var aBudget = limit.Budget{Key: "0123456789abcdef", Host: "euw1"}

func oneCall() *limit.Ask {
	return &limit.Ask{
		Budget: aBudget, Replica: "a", Margin: 5 * time.Millisecond, Horizon: 50 * time.Millisecond,
		Assumed: []limit.Quota{{N: 20, W: time.Second}},
		Demands: []limit.Demand{{Method: "/lol/status/v4/platform-data", Want: [2]int{1, 0}}},
	}
}

// granted asks until a permit is granted, since a new budget waits a little, and
// gives it back.
func granted(t *testing.T, s *Store) limit.Reply {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		r, err := s.Admit(t.Context(), oneCall())
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Grants) == 0 {
			continue
		}
		back := oneCall()
		back.Demands, back.Done = nil, []limit.Done{{Stub: r.Grants[0].Stub, Unsent: true}} // so that the next one need not wait for its answer
		if _, err := s.Admit(t.Context(), back); err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Fatal("nothing is granted")
	return limit.Reply{}
}

// each runs a test on a real server and on miniredis.
func each(t *testing.T, f func(t *testing.T, url string)) {
	t.Run("real", func(t *testing.T) { f(t, startServer(t).url()) })
	t.Run("miniredis", func(t *testing.T) { f(t, "redis://"+startMini(t).Addr()) })
}

func TestAdmitsAndHints(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		a, b := patient(t, url, nil), patient(t, url, nil)
		hints := b.Hints(t.Context())
		await(t, hints, limit.Hint{}) // subscribed
		r := granted(t, a)
		await(t, hints, limit.Hint{Budget: aBudget, Epoch: 1})
		ask := oneCall()
		ask.Done = []limit.Done{{Stub: r.Grants[0].Stub}}
		ask.Facts = []limit.Fact{{Passed: true, Counted: true, Limits: []limit.Quota{{N: 20, W: time.Second}}, Stop: time.Second, Cause: limit.Application}}
		if _, err := a.Admit(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
		await(t, hints, limit.Hint{Budget: aBudget})
		r, err := b.Admit(t.Context(), oneCall())
		if err != nil || r.App.Stop <= 0 || r.App.Cause != limit.Application {
			t.Errorf("the other sees %+v, %v; want the stop", r.App, err)
		}
	})
}

// await waits for a hint; an epoch of 1 stands for any.
func await(t *testing.T, hints <-chan limit.Hint, want limit.Hint) {
	t.Helper()
	for {
		select {
		case h := <-hints:
			if h.Epoch = min(h.Epoch, 1); h == want {
				return
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no hint of %+v", want)
		}
	}
}

func TestCloseEndsAllUse(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		s := patient(t, url, nil)
		hints := s.Hints(t.Context())
		for range 2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for range hints { // until it is closed
		}
		if _, ok := <-s.Hints(t.Context()); ok {
			t.Error("a hint after Close")
		}
		if _, err := s.Admit(t.Context(), oneCall()); err != limit.ErrStoreClosed {
			t.Errorf("Admit: %v", err)
		}
		if _, err := s.Beat(t.Context(), "a", nil); err != limit.ErrStoreClosed {
			t.Errorf("Beat: %v", err)
		}
	})
}

// A script that comes to run after its caller has given up changes nothing, and
// tells the time.
func TestLateScriptsChangeNothing(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		s := patient(t, url, nil)
		granted(t, s)
		o, _ := redis.ParseURL(url)
		c := redis.NewClient(o)
		defer c.Close()
		key := s.keyOf(aBudget)
		before := c.HGetAll(t.Context(), key).Val()
		late := time.Now().Add(-time.Second).UnixMilli()
		for name, p := range map[string]script{"admit": s.scripts.admit, "beat": s.scripts.beat} {
			reply, err := s.run(t.Context(), p, key, late, "c", nameOf(aBudget), encodeAsk(oneCall()))
			if err != nil || len(reply) != 2 || reply[1] != int64(0) {
				t.Errorf("%s: %v, %v", name, reply, err)
				continue
			}
			if ahead := reply[0].(int64) - late; ahead < 1000 || ahead > 60_000 {
				t.Errorf("%s: the time is %d ms after the deadline", name, ahead)
			}
		}
		after := c.HGetAll(t.Context(), key).Val()
		if len(before) == 0 || len(before) != len(after) {
			t.Errorf("%d fields, then %d", len(before), len(after))
		}
		for k, v := range before {
			if after[k] != v {
				t.Errorf("field %s was changed", k)
			}
		}
	})
}

// A clock that jumps ahead ends charges too early: nothing is granted for as
// long, and nothing is changed by the call that sees it.
func TestClockJumps(t *testing.T) {
	mini := startMini(t)
	start := time.Now()
	mini.SetTime(start)
	s, err := New(t.Context(), Options{URL: "redis://" + mini.Addr(), Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Admit(t.Context(), oneCall()); err != nil {
		t.Fatal(err)
	}
	key := s.keyOf(aBudget)
	before, _ := mini.HKeys(key)
	old := mini.HGet(key, "l")
	mini.SetTime(start.Add(time.Hour))
	_, err = s.Admit(t.Context(), oneCall())
	var jump *JumpError
	if !errors.As(err, &jump) || jump.By < 59*time.Minute || jump.Left <= 0 || jump.Left > leastPause+limit.SendBy {
		t.Fatalf("after a jump of an hour: %v", err)
	}
	if len(before) == 0 || mini.HGet(key, "l") != old {
		t.Error("the call that saw the jump has changed the ledger")
	}
	if state, err := s.State(); state != Up {
		t.Errorf("a jump isn't the end of the server: %v, %v", state, err)
	}
	if _, err := s.Beat(t.Context(), "a", nil); err != nil {
		t.Errorf("Beat after the jump: %v", err)
	}

	// Back: time stands still, also for a caller that has just come and doesn't know why.
	s.clock(key).paused = time.Time{}
	mini.SetTime(start)
	_, err = s.Admit(t.Context(), oneCall())
	if !errors.As(err, &jump) || jump.By > -59*time.Minute || jump.Left < 59*time.Minute || !strings.Contains(err.Error(), "jumped back by 59m") && !strings.Contains(err.Error(), "jumped back by 1h0m") {
		t.Errorf("after a jump back: %v", err)
	}
}

func TestServerClock(t *testing.T) {
	at := func(ms int) time.Time { return origin.Add(time.Duration(ms) * time.Millisecond) }
	c := &serverClock{}
	if d := c.deadline(at(100)); d != 0 {
		t.Errorf("deadline %d with an unknown clock, want 0", d)
	}
	c.heard(at(0), at(10), 1005) // 995 to 1006 ahead
	if d := c.deadline(at(60)); d != 1055 {
		t.Errorf("deadline %d, want 1055: the earliest", d)
	}
	c.heard(at(20), at(21), 1021) // 1000 to 1002
	if d := c.deadline(at(60)); d != 1060 {
		t.Errorf("deadline %d, want 1060", d)
	}
	if jump := c.heard(at(30), at(31), 1133); jump < 98*time.Millisecond || jump > 100*time.Millisecond {
		t.Errorf("jump %v, want about 100 ms", jump)
	}
	if err := c.pausing(at(31)); err != nil {
		t.Errorf("a small jump: %v", err)
	}
	if jump := c.heard(at(40), at(41), 2142); jump < 990*time.Millisecond || jump > time.Second {
		t.Errorf("jump %v, want 1 s", jump)
	}
	if c.pausing(at(1000)) == nil || c.pausing(at(1042)) != nil {
		t.Errorf("pausing until %v, want for the jump", c.paused.Sub(origin))
	}
	if jump := c.heard(at(50), at(51), 500); jump > -1600*time.Millisecond || jump < -1660*time.Millisecond {
		t.Errorf("jump %v, want 1.65 s back", jump)
	}
	if c.pausing(at(1690)) == nil || c.pausing(at(1711)) != nil {
		t.Errorf("pausing until %v, want for the jump", c.paused.Sub(origin))
	}
	if d := c.deadline(at(60)); d != 509 {
		t.Errorf("deadline %d after a jump back, want 509", d)
	}
}

// nonces changes answers as if they were another call's.
type nonces struct{ swap atomic.Bool }

func (*nonces) DialHook(next redis.DialHook) redis.DialHook { return next }
func (*nonces) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (n *nonces) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if c, ok := cmd.(once); ok && err == nil && n.swap.Load() {
			list := c.Val().([]any)
			list[0] = list[0].(int64) + 1
		}
		return err
	}
}

func TestMixedAnswersCloseTheConnections(t *testing.T) {
	mini := startMini(t)
	s := patient(t, "redis://"+mini.Addr(), nil)
	old := s.link.client()
	n := &nonces{}
	n.swap.Store(true)
	old.AddHook(n)
	_, err := s.Admit(t.Context(), oneCall())
	var e *AwayError
	if !errors.As(err, &e) || e.Reason != ReasonMixed || !errors.Is(err, ErrAway) {
		t.Fatalf("%v, want %s", err, ReasonMixed)
	}
	if s.link.client() == old || old.Ping(t.Context()).Err() == nil {
		t.Error("the connection whose answers are mixed up is still in use")
	}
	untilUp(t, s)
	granted(t, s)
}

// Asks that would make a script long are refused.
func TestAsksAreBounded(t *testing.T) {
	s := patient(t, "redis://"+startMini(t).Addr(), nil)
	for part, ask := range map[string]limit.Ask{
		"33 demands":        {Demands: make([]limit.Demand, 33)},
		"1001 permits done": {Done: make([]limit.Done, 1001)},
		"201 facts":         {Facts: make([]limit.Fact, 201)},
	} {
		if _, err := s.Admit(t.Context(), &ask); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q", err, part)
		}
	}
}
