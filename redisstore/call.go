package redisstore

import (
	"context"
	"embed"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"riftrelay/internal/limit"
)

//go:embed *.lua
var files embed.FS

// lua returns the text of files, one after the other.
func lua(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		text, err := files.ReadFile(name + ".lua")
		if err != nil {
			panic(err) // it is part of the program
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	return b.String()
}

// script is one, with the name the server keeps it by.
type script struct{ sha, text string }

func newScript(text string) script { return script{redis.NewScript(text).Hash(), text} }

type scripts struct{ admit, beat, layouts, probe script }

// newScripts makes the scripts. edit is for tests, which need a clock of their
// own.
func newScripts(edit func(string) string) scripts {
	return scripts{
		admit:   newScript(edit(lua("pack", "slots", "scope", "merge", "report", "admit", "wait"))),
		beat:    newScript(edit(lua("beat"))),
		layouts: newScript(lua("layouts")),
		probe:   newScript(probeLua),
	}
}

var productionScripts = newScripts(func(text string) string { return text })

// probeLua shows that scripts run, and may write.
const probeLua = `redis.call('HSET', KEYS[1], 'probe', ARGV[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return {tonumber(ARGV[1])}`

// once is a command that is never sent twice: the first may have been carried
// out, and what it has granted would be spent.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// run runs a script and returns its answer without the nonce.
func (s *Store) run(ctx context.Context, p script, key string, args ...any) ([]any, error) {
	nonce := rand.Int64N(1 << 52)
	args = append([]any{"evalsha", p.sha, 1, key, nonce}, args...)
	reply, err := s.do(ctx, args)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT ") {
		args[0], args[1] = "eval", p.text
		reply, err = s.do(ctx, args)
	}
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok || len(list) < 1 {
		return nil, errBroken
	}
	if list[0] != nonce {
		// The answers on this connection belong to others' calls.
		s.link.renew()
		return nil, &AwayError{Reason: ReasonMixed, text: "the answer to another call came"}
	}
	return list[1:], nil
}

func (s *Store) do(ctx context.Context, args []any) (any, error) {
	cmd := once{redis.NewCmd(ctx, args...)}
	if err := s.link.client().Process(ctx, cmd); err != nil {
		return nil, err
	}
	return cmd.Result()
}

// call runs a script with a deadline and returns its answer without the nonce,
// the time and whether it was late.
func (s *Store) call(ctx context.Context, clock *serverClock, p script, key, name, ask string) ([]any, error) {
	if s.isClosed() {
		return nil, limit.ErrStoreClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.breaker.check(); err != nil {
		return nil, err
	}
	reply, err := s.attempt(ctx, clock, p, key, name, ask)
	switch {
	case err == nil:
		return reply, nil
	case s.isClosed():
		return nil, limit.ErrStoreClosed
	}
	if own := overdue(ctx); own != nil {
		return nil, own // the caller's haste says nothing of the server
	}
	if jump := (*JumpError)(nil); errors.As(err, &jump) {
		return nil, err
	}
	e := away(err, s.link.secrets)
	s.breaker.open(e, key)
	return nil, e
}

// overdue returns ctx's error, also when its deadline has passed without its
// having noticed: connections notice sooner.
func overdue(ctx context.Context) error {
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// attempt runs the script, and once more if it was late only because its
// deadline came from an old idea of the server's clock: a late script has
// changed nothing.
func (s *Store) attempt(ctx context.Context, clock *serverClock, p script, key, name, ask string) ([]any, error) {
	giveUp := time.Now().Add(2 * s.o.Timeout)
	ctx, cancel := context.WithDeadline(ctx, giveUp)
	defer cancel()
	if d, _ := ctx.Deadline(); d.Before(giveUp) {
		giveUp = d
	}
	for range 3 { // the first call of all asks for the time
		sent := time.Now()
		reply, err := s.run(ctx, p, key, clock.deadline(giveUp), s.o.Prefix+"hints", name, ask)
		if err != nil {
			return nil, err
		}
		server, ok := number(reply, 0)
		done, ok2 := number(reply, 1)
		if !ok || !ok2 {
			return nil, errBroken
		}
		jump := clock.heard(sent, time.Now(), server)
		if done == 1 {
			return reply[2:], nil
		}
		if jump > jumpFrom && p == s.scripts.admit {
			return nil, clock.pausing(time.Now())
		}
	}
	return nil, &AwayError{Reason: ReasonTimeout, text: "the script ran too late, and did nothing"}
}

func number(list []any, i int) (int64, bool) {
	if i >= len(list) {
		return 0, false
	}
	n, ok := list[i].(int64)
	return n, ok
}
