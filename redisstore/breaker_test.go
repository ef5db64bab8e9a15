package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"riftrelay/internal/limit"
)

func untilUp(t *testing.T, s *Store) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if state, _ := s.State(); state == Up {
			return
		}
	}
	_, err := s.State()
	t.Fatalf("the store stays away: %v", err)
}

// watch notes changes of state and calls.
type watch struct {
	mu     sync.Mutex
	states []string
	calls  []string
}

func (w *watch) options(o *Options) {
	o.OnState = func(s State, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		var e *AwayError
		if errors.As(err, &e) {
			w.states = append(w.states, s.String()+" "+string(e.Reason))
		} else {
			w.states = append(w.states, s.String())
		}
	}
	o.OnCall = func(op string, took time.Duration, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.calls = append(w.calls, fmt.Sprint(op, " ", errors.Is(err, ErrAway), " ", took > 0))
	}
}

func (w *watch) seen() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.states, ", ")
}

// A server that freezes costs one caller a time-out, the others nothing, and
// grants nothing to callers that have gone.
func TestFreeze(t *testing.T) {
	server := startServer(t)
	w := &watch{}
	s := patient(t, server.url(), func(o *Options) { o.Timeout = 250 * time.Millisecond; w.options(o) })
	granted(t, s)
	if err := server.Process().Signal(standStill); err != nil {
		t.Fatal(err)
	}
	frozen := time.Now()
	_, err := s.Admit(t.Context(), oneCall())
	var e *AwayError
	if !errors.As(err, &e) || e.Reason != ReasonTimeout {
		t.Fatalf("%v, want a time-out", err)
	}
	if took := time.Since(frozen); took > 5*time.Second {
		t.Errorf("the first caller waited %v", took)
	}
	began := time.Now()
	const many = 1000
	for range many {
		if _, err := s.Admit(t.Context(), oneCall()); !errors.Is(err, ErrAway) {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("%d callers waited %v for a server that is known to be away", many, took)
	}
	time.Sleep(time.Until(frozen.Add(600 * time.Millisecond))) // the call that waits there is too late by now
	if err := server.Process().Signal(goOn); err != nil {
		t.Fatal(err)
	}
	untilUp(t, s)
	ask := oneCall()
	ask.Demands = nil
	r, err := s.Admit(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if used := r.App.Windows[0].Used; used > 1 {
		t.Errorf("%d charges, want the first's alone", used)
	}
	if got := w.seen(); got != "away timeout, up" {
		t.Errorf("states: %s", got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls[0] != "admit false true" {
		t.Errorf("calls: %s", w.calls[0])
	}
}

// A server that is killed and comes back empty is found again, with another epoch.
func TestKillAndRestart(t *testing.T) {
	server := startServer(t)
	s := patient(t, server.url(), nil)
	hints := s.Hints(t.Context())
	first := granted(t, s)
	server.Kill()
	_, err := s.Admit(t.Context(), oneCall())
	var e *AwayError
	if !errors.As(err, &e) || e.Reason != ReasonNetwork {
		t.Fatalf("%v, want a broken connection", err)
	}
	server.start()
	untilUp(t, s)
	if second := granted(t, s); second.Epoch == first.Epoch {
		t.Error("the epoch of a store that was lost is the same")
	}
	await(t, hints, limit.Hint{})
}

// A store can be made while its server is away.
func TestStartsWithoutServer(t *testing.T) {
	server := startServer(t)
	server.Kill()
	s := patient(t, server.url(), nil)
	if state, err := s.State(); state != Away || !errors.Is(err, ErrAway) {
		t.Fatalf("%v, %v", state, err)
	}
	server.start()
	untilUp(t, s)
	granted(t, s)
}

// What a caller's own haste ends says nothing of the server.
func TestCallersHasteIsTheirOwn(t *testing.T) {
	s := patient(t, "redis://"+startMini(t).Addr(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Admit(ctx, oneCall()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	hung := hangingServer(t)
	s2, err := New(t.Context(), Options{URL: "redis://" + hung, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s2.Close()
	s2.breaker.mu.Lock()
	s2.breaker.err = nil // as if it had just answered
	s2.breaker.mu.Unlock()
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s2.Admit(ctx, oneCall()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// hangingServer refuses the first connection's commands, and answers no other.
func hangingServer(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for first := true; ; first = false {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if first {
				c.Close()
				continue
			}
			defer c.Close() //nolint:gocritic // until the listener closes
		}
	}()
	return l.Addr().String()
}

// NOSCRIPT is no failure: the script is sent along.
func TestScriptsAreSentAgain(t *testing.T) {
	server := startServer(t)
	s := patient(t, server.url(), nil)
	granted(t, s)
	server.do("SCRIPT", "FLUSH")
	granted(t, s)
}

// Each error that a server answers with has a reason, and ends when it does.
func TestErrorReplies(t *testing.T) {
	server := startServer(t)
	key := patient(t, server.url(), nil).keyOf(aBudget)
	for _, c := range []struct {
		reason      Reason
		cause, mend []any
	}{
		{ReasonReadOnly, []any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}},
		{ReasonReadOnly, []any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}},
		{ReasonMemory, []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}},
		{ReasonDenied, []any{"ACL", "SETUSER", "default", "-eval", "-evalsha"}, []any{"ACL", "SETUSER", "default", "+eval", "+evalsha"}},
		{ReasonDenied, []any{"ACL", "SETUSER", "default", "-hset"}, []any{"ACL", "SETUSER", "default", "+hset"}},
		{ReasonDenied, []any{"ACL", "SETUSER", "default", "resetkeys"}, []any{"ACL", "SETUSER", "default", "allkeys"}},
		{ReasonData, []any{"SET", key, "x"}, []any{"DEL", key}},
		{ReasonData, []any{"HSET", key, "l", "what is this"}, []any{"DEL", key}},
		{ReasonData, []any{"HSET", key, "l", "?"}, []any{"DEL", key}},
	} {
		server.do("FLUSHALL")
		s := patient(t, server.url(), nil)
		granted(t, s)
		server.do(c.cause...)
		_, err := s.Admit(t.Context(), oneCall())
		var e *AwayError
		if !errors.As(err, &e) || e.Reason != c.reason {
			t.Errorf("%v: %v, want reason %s", c.cause, err, c.reason)
		}
		if state, _ := s.State(); state != Away && c.reason != ReasonData {
			t.Errorf("%v: the store is %s", c.cause, state)
		}
		server.do(c.mend...)
		untilUp(t, s)
		granted(t, s)
		s.Close()
	}
}

func TestReasons(t *testing.T) {
	for text, want := range map[string]Reason{
		"LOADING Redis is loading the dataset in memory":                                     ReasonLoading,
		"MASTERDOWN Link with MASTER is down":                                                ReasonLoading,
		"BUSY Redis is busy running a script":                                                ReasonBusy,
		"CLUSTERDOWN Hash slot not served":                                                   ReasonCluster,
		"MOVED 3999 127.0.0.1:6381":                                                          ReasonCluster,
		"ASK 3999 127.0.0.1:6381":                                                            ReasonCluster,
		"WRONGPASS invalid username-password pair or user is disabled.":                      ReasonDenied,
		"NOAUTH Authentication required.":                                                    ReasonDenied,
		"OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script": ReasonMemory,
		"ERR Error running script: @user_script:1: WRONGTYPE Operation against a key":        ReasonData,
		"ERR DB index is out of range":                                                       ReasonDatabase,
		"ERR something else":                                                                 ReasonOther,
	} {
		if e := away(replyError(text), nil); e.Reason != want || !errors.Is(e, ErrAway) {
			t.Errorf("%s: %s, want %s", text, e.Reason, want)
		}
	}
	if e := away(redis.ErrPoolTimeout, nil); e.Reason != ReasonTimeout {
		t.Errorf("pool: %s", e.Reason)
	}
}

// replyError is an error reply, as the client gives it.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

// A script that runs for too long makes others BUSY.
func TestBusyServer(t *testing.T) {
	server := startServer(t, "--lua-time-limit", "20")
	s := patient(t, server.url(), nil)
	granted(t, s)
	c := server.admin()
	go c.Eval(context.Background(), "while true do end", nil)
	deadline := time.Now().Add(20 * time.Second)
	var e *AwayError
	for !errors.As(func() error { _, err := s.Admit(t.Context(), oneCall()); return err }(), &e) {
		if time.Now().After(deadline) {
			t.Fatal("never busy")
		}
	}
	if e.Reason != ReasonBusy {
		t.Errorf("%v, want %s", e, ReasonBusy)
	}
	server.do("SCRIPT", "KILL")
	untilUp(t, s)
}

// A command that a script may have carried out is never sent again.
func TestNothingIsSentTwice(t *testing.T) {
	if !(once{}).NoRetry() {
		t.Error("a script may be sent twice")
	}
	mini := startMini(t)
	own := redis.NewClient(&redis.Options{Addr: mini.Addr(), ContextTimeoutEnabled: true, MaxRetries: 5})
	defer own.Close()
	s, err := New(t.Context(), Options{Client: own})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	own.AddHook(drops{})
	if _, err := s.Admit(t.Context(), oneCall()); !errors.Is(err, ErrAway) {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil || own.Ping(t.Context()).Err() != nil {
		t.Errorf("Close: %v; a caller's client is the caller's to close", err)
	}
}

// drops ends the connection's answer of a script.
type drops struct{}

func (drops) DialHook(next redis.DialHook) redis.DialHook { return next }
func (drops) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (drops) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, ok := cmd.(once); ok {
			return errors.New("EOF")
		}
		return next(ctx, cmd)
	}
}
