package riftrelay_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

func onKey(ctx context.Context, key string) context.Context {
	o := riftrelay.OptionsFrom(ctx)
	o.Key = riftrelay.Key{Value: key}
	return riftrelay.WithOptions(ctx, o)
}

func nowOrNever(ctx context.Context) context.Context {
	return riftrelay.WithMaxWait(ctx, riftrelay.NowOrNever)
}

// Keys of users have budgets of their own, those of Config.Keys another, and
// one that is of both has one.
func TestCallKeyHasABudgetOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Requests: -1, AppLimits: []riotsim.Rule{{Limit: "3:10"}}}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
		for _, key := range []string{"", "RGAPI-user-1", "RGAPI-user-2"} {
			ctx := onKey(t.Context(), key)
			for range 3 {
				if got := s.statusOf(t, ctx, byPUUID); got != "200" {
					t.Errorf("key %q: %s", key, got)
				}
			}
			if got := s.statusOf(t, nowOrNever(ctx), byPUUID); got != "deadline" {
				t.Errorf("key %q, a fourth time: %s", key, got)
			}
		}
		if got := s.statusOf(t, nowOrNever(onKey(t.Context(), oneKey)), byPUUID); got != "deadline" {
			t.Errorf("the listed key by its value: %s", got)
		}
		if got := s.statusOf(t, nowOrNever(onKey(onKey(t.Context(), "RGAPI-user-3"), "")), byPUUID); got != "deadline" {
			t.Errorf("a key taken back: %s", got)
		}
		if got, want := s.byKey(), map[string]int{oneKey: 3, "RGAPI-user-1": 3, "RGAPI-user-2": 3}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("calls by key: %v, want %v", got, want)
		}
		s.mustHold(t)
	})
}

// A call with its own key goes on no other, and other calls never on its key:
// be the listed ones dead, or the call's own.
func TestCallKeyServesNoOtherCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := keyed(t, riotsim.Config{}, []riftrelay.Key{{Name: "main", Value: canaryA}, {Name: "tft", Value: canaryB}}, riftrelay.Group{Name: "tft", Paths: []string{"/tft/"}})
		s.edge.SetKey(canaryA, 401)
		own := onKey(t.Context(), canaryC)
		if got := s.statusOf(t, own, byPUUID); got != "200" {
			t.Errorf("on its own key: %s", got)
		}
		// Refused on two hosts and two APIs, and by the first probe, a key is suspect.
		dies := []struct{ url, want string }{{byPUUID, "401"}, {account, "401"}, {byPUUID, "401"}, {byPUUID, "no_available_key"}}
		for i, c := range dies {
			if got := s.statusOf(t, t.Context(), c.url); got != c.want {
				t.Errorf("call %d on the listed key that died: %s, want %s", i, got, c.want)
			}
		}
		s.edge.SetKey(canaryC, 401)
		for i, c := range dies {
			if got := s.statusOf(t, own, c.url); got != c.want {
				t.Errorf("call %d on its own key that died: %s, want %s", i, got, c.want)
			}
		}
		if got := s.byKey()[canaryB]; got != 0 {
			t.Errorf("%d calls on the key of another group", got)
		}
		keys := s.limiter.Snapshot().Keys
		if len(keys) != 3 || keys[2].PerCall != true || keys[2].State != riftrelay.KeySuspect || !strings.HasPrefix(keys[2].Name, "call-") || keys[0].PerCall {
			t.Errorf("%+v", keys)
		}
		// Its name serves as that of any other key.
		if err := s.limiter.DisableKey(keys[2].Name); err != nil {
			t.Error(err)
		}
		_, err := s.limiter.Acquire(t.Context(), routeTo(t, byPUUID), riftrelay.OptionsFrom(own))
		var rejected *riftrelay.RejectedError
		if !errors.As(err, &rejected) || !strings.Contains(rejected.Detail, keys[2].Name+": 401") || !strings.Contains(rejected.Detail, "disabled") {
			t.Errorf("%v", err)
		}
	})
}

// Players' calls carry no key, whatever their context says (R5).
func TestCallKeyLeavesRSOAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Requests: -1}, riftrelay.Config{})
		if got := s.statusOf(t, onKey(t.Context(), canaryA), "https://europe.api.riotgames.com/riot/account/v1/accounts/me"); got != "200" {
			t.Error(got)
		}
		for _, r := range s.edge.Requests() {
			if got := r.Header.Get("X-Riot-Token"); got != "" {
				t.Errorf("sent with %q", got)
			}
		}
	})
}

func TestCallKeyRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{}, riftrelay.Config{})
		for name, c := range map[string]struct {
			key    string
			reason riftrelay.Reason
		}{
			"no key":            {key: "two\nlines", reason: riftrelay.ReasonInvalidKey},
			"too long":          {key: strings.Repeat("CANARY", 100), reason: riftrelay.ReasonInvalidKey},
			"neither is hidden": {key: "CANARY\x00", reason: riftrelay.ReasonInvalidKey},
		} {
			_, err := s.limiter.Acquire(t.Context(), routeTo(t, byPUUID), riftrelay.Options{Key: riftrelay.Key{Value: c.key}})
			var rejected *riftrelay.RejectedError
			if !errors.As(err, &rejected) || rejected.Reason != c.reason || rejected.Route.Method == nil || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := s.statusOf(t, onKey(t.Context(), "two\nlines"), byPUUID); got != "invalid_key" {
			t.Errorf("by Transport: %s", got)
		}
		if keys := s.limiter.Snapshot().Keys; len(keys) != 1 {
			t.Errorf("%+v", keys)
		}
	})
}

// maxCallKeys is how many keys of calls a Limiter knows at a time.
const maxCallKeys = 1024

// Ten thousand keys: as many as are bounded at a time, and the one used longest
// ago goes first, once nothing counts on it.
func TestCallKeyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "20:10"}}, MethodLimits: []riotsim.Rule{{Limit: "50:10"}}}, riftrelay.Config{})
		const all = 10_000
		for i := range all {
			if i > 0 && i%maxCallKeys == 0 {
				_, err := s.limiter.Acquire(t.Context(), routeTo(t, byPUUID), riftrelay.Options{Key: riftrelay.Key{Value: fmt.Sprint("RGAPI-", i)}})
				if !errors.Is(err, riftrelay.ErrTooManyKeys) {
					t.Fatalf("key %d: %v, want all places taken", i, err)
				}
				time.Sleep(11 * time.Second)
			}
			if got := s.statusOf(t, onKey(t.Context(), fmt.Sprint("RGAPI-", i)), byPUUID); got != "200" {
				t.Fatalf("key %d: %s", i, got)
			}
		}
		snapshot := s.limiter.Snapshot()
		if got := len(snapshot.Keys); got != 1+maxCallKeys {
			t.Errorf("%d keys", got)
		}
		if got := len(snapshot.Scopes); got > 2*(1+maxCallKeys) {
			t.Errorf("%d scopes", got)
		}
		// One that is used stays, the one used longest ago goes.
		time.Sleep(11 * time.Second)
		first := all - maxCallKeys
		s.statusOf(t, onKey(t.Context(), fmt.Sprint("RGAPI-", first)), byPUUID)
		names := func() (names []string) {
			for _, k := range s.limiter.Snapshot().Keys {
				names = append(names, k.Name)
			}
			slices.Sort(names)
			return names
		}
		before := names()
		s.statusOf(t, onKey(t.Context(), "RGAPI-another"), byPUUID)
		after := names()
		gone := slices.DeleteFunc(slices.Clone(before), func(n string) bool { return slices.Contains(after, n) })
		if len(gone) != 1 {
			t.Fatalf("gone: %v", gone)
		}
		if got := s.statusOf(t, onKey(t.Context(), fmt.Sprint("RGAPI-", first)), byPUUID); got != "200" || !slices.Equal(names(), after) {
			t.Errorf("the one used a moment ago has gone: %s", got)
		}
		s.mustHold(t)
	})
}

// A key may move into Config.Keys and out of them while calls wait for it. They
// go on with it, and with all that counts on it.
func TestCallKeyMovesWithSetKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{Requests: -1, AppLimits: []riotsim.Rule{{Limit: "2:10"}}}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
		own := onKey(t.Context(), canaryA)
		for range 2 {
			s.statusOf(t, own, byPUUID)
		}
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if got := s.statusOf(t, own, byPUUID); got != "200" {
					t.Errorf("one that waited: %s", got)
				}
			})
		}
		for _, keys := range [][]string{{canaryB, canaryA}, {canaryA, canaryB}, {canaryB}, {canaryB, canaryC}, {canaryA}, {canaryC}} {
			synctest.Wait()
			time.Sleep(7 * time.Second)
			var list []riftrelay.Key
			for _, k := range keys {
				list = append(list, riftrelay.Key{Value: k})
			}
			if err := s.limiter.SetKeys(list); err != nil {
				t.Fatal(err)
			}
		}
		wg.Wait()
		if got := s.byKey(); got[canaryA] != 8 || len(got) != 1 {
			t.Errorf("calls by key: %v", got)
		}
		if open := s.limiter.OpenPermits(); len(open) > 0 {
			t.Errorf("open: %v", open)
		}
		s.mustHold(t)
	})
}

// A restart forgets no call of any key, and knows none of the keys.
func TestCallKeyOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "3:10"}}}, riftrelay.Config{Pacing: riftrelay.PacingBurst})
		own := onKey(t.Context(), canaryA)
		for range 3 {
			s.statusOf(t, own, byPUUID)
		}
		s.limiter.Close()
		var saved strings.Builder
		if err := s.limiter.SaveState(&saved); err != nil {
			t.Fatal(err)
		}
		next, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Value: oneKey}}, Pacing: riftrelay.PacingBurst, Table: table})
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close()
		restored, err := next.LoadState(strings.NewReader(saved.String()))
		if err != nil || restored.Saved != 2 || restored.Scopes != 2 {
			t.Fatalf("%+v, %v", restored, err)
		}
		if _, err := next.Acquire(t.Context(), routeTo(t, byPUUID), riftrelay.OptionsFrom(nowOrNever(own))); !errors.Is(err, riftrelay.ErrNotInTime) {
			t.Errorf("in a full window, after a restart: %v", err)
		}
		if p, err := next.Acquire(t.Context(), routeTo(t, byPUUID), riftrelay.Options{Key: riftrelay.Key{Value: canaryB}}); err != nil {
			t.Errorf("another key: %v", err)
		} else {
			p.Release()
		}
		if strings.Contains(saved.String(), "CANARY") {
			t.Error("a key was saved")
		}
	})
}

// Replicas share what users' keys allow, without a word of who they are.
func TestCallKeyAndAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, riotsim.Config{AppLimits: []riotsim.Rule{{Limit: "10:10"}}}, riftrelay.Config{Pacing: riftrelay.PacingBurst}, time.Millisecond, time.Millisecond)
		ctx, stop := context.WithTimeout(onKey(t.Context(), canaryA), time.Minute)
		defer stop()
		var wg sync.WaitGroup
		for _, r := range f.replicas {
			r.load(ctx, &wg, 5, byPUUID)
		}
		wg.Wait()
		f.mustHold(t)
		if a, b := f.replicas[0].served.Load(), f.replicas[1].served.Load(); a+b < 50 || a < 10 || b < 10 {
			t.Errorf("served %d and %d, of 60 or so", a, b)
		}
	})
}

// What is said of a key is its name.
func TestHardeningKeysOfCallsAreNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		tell := func(v any) { fmt.Fprintf(&said, "%v %+v %#v\n", v, v, v) }
		s := simulate(t, riotsim.Config{}, riftrelay.Config{Hooks: riftrelay.Hooks{
			Admission: func(ctx context.Context, e riftrelay.AdmissionEvent) { tell(ctx); tell(e) },
			Answer:    func(ctx context.Context, e riftrelay.AnswerEvent) { tell(ctx); tell(e) },
			Change:    func(e riftrelay.ChangeEvent) { tell(e) },
		}})
		own := onKey(t.Context(), canaryA)
		for _, code := range []int{200, 401, 400, 403} {
			s.edge.SetKey(canaryA, code)
			for _, url := range []string{byPUUID, mastery} {
				resp, body, err := call(own, s.client, http.MethodGet, url, "")
				report, _ := riftrelay.ReportOf(resp)
				if resp != nil {
					tell(resp.Header)
				}
				tell(body)
				tell(err)
				tell(report)
				time.Sleep(time.Second)
			}
			tell(s.limiter.Snapshot())
		}
		if err := s.limiter.SaveState(&said); err != nil {
			t.Fatal(err)
		}
		if text := said.String(); strings.Contains(text, "CANARY") || strings.Count(text, "call-") < 20 {
			i := strings.Index(text, "CANARY")
			t.Errorf("found a key: …%s…", text[max(0, i-100):min(len(text), i+100)])
		}
	})
}
