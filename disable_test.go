package riftrelay_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// The tests of this file are about keys that an operator disables, enables and
// has looked at again.

func mustDo(t *testing.T, do func(string) error, name string) {
	t.Helper()
	if err := do(name); err != nil {
		t.Fatal(err)
	}
}

func TestDisabledKeyGetsNoCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{}, twoKeys())
		mustDo(t, s.limiter.DisableKey, "main")
		mustDo(t, s.limiter.DisableKey, "main")
		time.Sleep(3 * time.Minute)
		for range 50 {
			if got := s.statusOf(t, t.Context(), byPUUID); got != "200" {
				t.Fatal(got)
			}
		}
		if got := s.byKey(); got[canaryA] != 0 || got[canaryB] != 50 {
			t.Errorf("arrived %v", got)
		}
		k := s.limiter.Snapshot().Keys[0]
		if k.Usable || k.State != riftrelay.KeyDisabled || len(k.Reasons) != 1 || k.Reasons[0] != "disabled 3 min ago" || k.NextProbe != 0 {
			t.Errorf("snapshot %+v", k)
		}

		// Pinned: refused, with the reason and no time to come back at.
		_, err := s.limiter.TryAcquire(routeTo(t, byPUUID), riftrelay.Options{Key: keyAt(s.limiter, 0)})
		var rejected *riftrelay.RejectedError
		if !errors.As(err, &rejected) || !errors.Is(err, riftrelay.ErrNoKey) || rejected.RetryAfter != 0 || rejected.Detail != "main: disabled 3 min ago" {
			t.Errorf("pinned: %v", err)
		}

		mustDo(t, s.limiter.EnableKey, "main")
		mustDo(t, s.limiter.EnableKey, "main")
		for range 50 {
			s.statusOf(t, t.Context(), byPUUID)
		}
		if got := s.byKey(); got[canaryA] != 25 {
			t.Errorf("the key that was enabled got %d of 50", got[canaryA])
		}
		if k := s.limiter.Snapshot().Keys[0]; !k.Usable || k.State != riftrelay.KeyUsable || len(k.Reasons) != 0 {
			t.Errorf("snapshot %+v", k)
		}
	})
}

// A player's id belongs to the key that gave it: no other can read it, so while
// that one is disabled there is none (R17).
func TestDisabledKeyAndItsIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{CheckIDs: true, Body: riotsim.Plausible}, twoKeys())
		ids := idsOf(t, canaryA, canaryB)
		url := func(key int) string {
			return "https://euw1.api.riotgames.com/lol/summoner/v4/summoners/by-puuid/" + ids[key]
		}
		for key := range ids {
			if got := s.statusOf(t, t.Context(), url(key)); got != "200" {
				t.Fatal(got)
			}
		}
		before := s.byKey()
		mustDo(t, s.limiter.DisableKey, "spare")
		if got := s.statusOf(t, t.Context(), url(1)); got != string(riftrelay.ReasonNoKey) {
			t.Errorf("an id of the disabled key: %s", got)
		}
		if got := s.statusOf(t, t.Context(), url(0)); got != "200" {
			t.Errorf("an id of the other key: %s", got)
		}
		if got := s.byKey(); got[canaryB] != before[canaryB] || got[canaryA] != before[canaryA]+1 {
			t.Errorf("arrived %v, before %v", got, before)
		}
		mustDo(t, s.limiter.EnableKey, "spare")
		if got := s.statusOf(t, t.Context(), url(1)); got != "200" {
			t.Errorf("enabled: %s", got)
		}
	})
}

// What was admitted and not sent yet does not go on it either.
func TestDisableHoldsBackWhatIsNotSent(t *testing.T) {
	l := successor(t, twoKeys()...)
	p, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), riftrelay.Options{Key: keyAt(l, 1)})
	if err != nil || !p.Valid() {
		t.Fatal(err)
	}
	mustDo(t, l.DisableKey, "main")
	if !p.Valid() {
		t.Error("another key was disabled")
	}
	mustDo(t, l.DisableKey, "spare")
	if p.Valid() {
		t.Error("the call may be sent on a disabled key")
	}
	p.Release()
}

// What waits for a key alone is refused when it is disabled; what can go on
// another one waits on. With all of them disabled nobody waits.
func TestDisableWhileCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "2:10"}}}, twoKeys())
		for range 4 { // all of both
			s.statusOf(t, t.Context(), byPUUID)
		}
		ends := make(chan string, 2)
		pinned := riftrelay.WithOptions(t.Context(), riftrelay.Options{Key: keyAt(s.limiter, 0)})
		go func() { ends <- "pinned " + s.statusOf(t, pinned, byPUUID) }()
		synctest.Wait()
		go func() { ends <- "any " + s.statusOf(t, t.Context(), byPUUID) }()
		synctest.Wait()
		begin := time.Now()
		mustDo(t, s.limiter.DisableKey, "main")
		if got := <-ends; got != "pinned no_available_key" || time.Since(begin) > 0 {
			t.Errorf("%s after %v", got, time.Since(begin))
		}
		if got := <-ends; got != "any 200" {
			t.Error(got)
		}
		go func() { ends <- s.statusOf(t, t.Context(), byPUUID) }()
		go func() { ends <- s.statusOf(t, t.Context(), byPUUID) }()
		synctest.Wait()
		begin = time.Now()
		mustDo(t, s.limiter.DisableKey, "spare")
		synctest.Wait()
		for range len(ends) {
			<-ends
		}
		if n := s.limiter.Snapshot().Queued; n != 0 || time.Since(begin) > 0 {
			t.Errorf("%d still wait", n)
		}
		_, err := s.client.Get(byPUUID)
		if !errors.Is(err, riftrelay.ErrNoKey) || !strings.Contains(err.Error(), "main: disabled") || !strings.Contains(err.Error(), "spare: disabled") {
			t.Errorf("%v", err)
		}
	})
}

// It is the key that is disabled: not its place, nor its name.
func TestDisabledKeyOutlivesSetKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := successor(t, twoKeys()...)
		mustDo(t, l.DisableKey, "main")
		stateOf := func(keys ...riftrelay.Key) (states []riftrelay.KeyCondition) {
			t.Helper()
			if err := l.SetKeys(keys); err != nil {
				t.Fatal(err)
			}
			for _, k := range l.Snapshot().Keys {
				states = append(states, k.State)
			}
			return states
		}
		a, b := twoKeys()[0], twoKeys()[1]
		if got := stateOf(b, a); got[0] != riftrelay.KeyUsable || got[1] != riftrelay.KeyDisabled {
			t.Errorf("in another place: %v", got)
		}
		if got := stateOf(riftrelay.Key{Name: "first", Value: a.Value}); got[0] != riftrelay.KeyDisabled {
			t.Errorf("under another name: %v", got)
		}
		if got := stateOf(riftrelay.Key{Name: "main", Value: canaryC}, b); got[0] != riftrelay.KeyUsable || got[1] != riftrelay.KeyUsable {
			t.Errorf("a new key of that name: %v", got)
		}
		if got := stateOf(a, b); got[0] != riftrelay.KeyDisabled {
			t.Errorf("put back: %v", got)
		}
	})
}

// Disabled keys, and methods that keys were refused, are known after a restart:
// the first whatever the age, the second as long as they would have been.
func TestStateKeepsDisabledKeysAndRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := successor(t, twoKeys()...)
		time.Sleep(time.Second)
		forbid := func(l *riftrelay.Limiter) {
			t.Helper()
			p, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), riftrelay.Options{Key: keyAt(l, 0)})
			if err != nil {
				t.Fatal(err)
			}
			p.Sent()
			p.Observe(http.StatusForbidden, http.Header{"Content-Type": {"application/json"}})
		}
		for i := range 7 { // then it is left alone for 64 s
			time.Sleep(time.Second << i / 2)
			forbid(l)
		}
		mustDo(t, l.DisableKey, "spare")
		time.Sleep(time.Second)
		l.Close()
		var state bytes.Buffer
		if err := l.SaveState(&state); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{canaryA, canaryB, "CANARY", "main", "spare"} {
			if strings.Contains(state.String(), name) {
				t.Errorf("%q is in %s", name, &state)
			}
		}
		keyOf := func(l *riftrelay.Limiter) string {
			t.Helper()
			p, err := l.TryAcquire(mustMatch(t, byPUUID), riftrelay.Options{Priority: riftrelay.High})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Release()
			return p.Key()
		}
		time.Sleep(10 * time.Second)
		load := func() *riftrelay.Limiter {
			t.Helper()
			l := successor(t, append(twoKeys(), riftrelay.Key{Name: "third", Value: canaryC})...)
			if _, err := l.LoadState(bytes.NewReader(state.Bytes())); err != nil {
				t.Fatal(err)
			}
			k := l.Snapshot().Keys
			if !k[0].Usable || k[1].State != riftrelay.KeyDisabled || !k[2].Usable {
				t.Errorf("keys %+v", k)
			}
			time.Sleep(time.Second) // J after the start
			return l
		}
		l = load()
		if why := l.Snapshot().Keys[1].Reasons; len(why) != 1 || why[0] != "disabled 12 s ago" {
			t.Errorf("reasons %v", why)
		}
		for range 3 {
			if key := keyOf(l); key != "third" {
				t.Errorf("a call of the method that main was refused went on %s", key)
			}
		}
		time.Sleep(53 * time.Second)
		if key := keyOf(l); key != "main" {
			t.Errorf("when that is over, it goes on %s", key)
		}

		time.Sleep(30 * 24 * time.Hour)
		l = load()
		if key := keyOf(l); key != "main" {
			t.Errorf("a month later it goes on %s", key)
		}
		for good, bad := range map[string]string{`"age":`: `"age":-`, `"n":7`: `"n":-1`} {
			spoiled := strings.Replace(state.String(), good, bad, 1)
			if _, err := successor(t, twoKeys()...).LoadState(strings.NewReader(spoiled)); !errors.Is(err, riftrelay.ErrState) {
				t.Errorf("%s: %v", bad, err)
			}
		}
	})
}

// A tripped breaker is still tripped after a restart, and eases by age.
func TestStateKeepsTrippedBreakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := riftrelay.Config{Table: table, Keys: twoKeys()[:1], ViolationLimit: 1}
		l, err := riftrelay.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			p, err := l.Acquire(t.Context(), mustMatch(t, byPUUID), riftrelay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p.Sent()
			h := learned("20:1,100:120", "10:600")
			h.Set("X-Rate-Limit-Type", "method")
			h.Set("Retry-After", "1")
			p.Observe(http.StatusTooManyRequests, h)
			time.Sleep(3 * time.Second)
		}
		halved := func(l *riftrelay.Limiter) (n int) {
			for _, s := range l.Snapshot().Scopes {
				n += s.Halved
			}
			return n
		}
		if n := halved(l); n != 1 {
			t.Fatalf("halved %d times", n)
		}
		l.Close()
		var state bytes.Buffer
		if err := l.SaveState(&state); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			pause time.Duration
			want  int
		}{{4 * time.Minute, 1}, {time.Minute, 0}} {
			time.Sleep(c.pause)
			l := successor(t, twoKeys()[:1]...)
			if _, err := l.LoadState(bytes.NewReader(state.Bytes())); err != nil {
				t.Fatal(err)
			}
			if n := halved(l); n != c.want {
				t.Errorf("%v later: halved %d times, want %d", c.pause, n, c.want)
			}
		}
	})
}

// Recheck: the next call tries a suspect key, however long that would have been
// left alone.
func TestRecheckKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{}, twoKeys()[:1])
		s.edge.SetKey(canaryA, 401)
		for range 300 { // the probes grow far apart
			s.statusOf(t, t.Context(), byPUUID)
			s.statusOf(t, t.Context(), account)
			time.Sleep(time.Second)
		}
		next := s.limiter.Snapshot().Keys[0].NextProbe
		if next < 30*time.Second {
			t.Fatalf("next probe in %v", next)
		}
		s.edge.SetKey(canaryA, 200)
		if got := s.statusOf(t, t.Context(), byPUUID); got != string(riftrelay.ReasonNoKey) {
			t.Fatal(got)
		}
		mustDo(t, s.limiter.RecheckKey, "main")
		if k := s.limiter.Snapshot().Keys[0]; k.Usable || k.NextProbe != 0 {
			t.Errorf("snapshot %+v", k)
		}
		if got := s.statusOf(t, t.Context(), byPUUID); got != "200" {
			t.Errorf("after the recheck: %s", got)
		}
		mustDo(t, s.limiter.RecheckKey, "main") // of a good key
		if k := s.limiter.Snapshot().Keys[0]; !k.Usable {
			t.Errorf("snapshot %+v", k)
		}
	})
}

func TestUnknownKeyNames(t *testing.T) {
	l := successor(t, twoKeys()...)
	for _, do := range []func(string) error{l.DisableKey, l.EnableKey, l.RecheckKey} {
		for _, name := range []string{"", "Main", canaryA} {
			if err := do(name); !errors.Is(err, riftrelay.ErrUnknownKey) || !strings.Contains(err.Error(), "allowed: main, spare") || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%v", err)
			}
		}
	}
	if err := successor(t).DisableKey("main"); err == nil || !strings.Contains(err.Error(), "there are no keys") {
		t.Errorf("%v", err)
	}
}
