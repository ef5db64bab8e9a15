package riftrelay_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"riftrelay"
)

// canaryKey must not be seen; put together so that no scanner takes it for one.
func canaryKey() string { return "RGAPI-" + "CANARY-0000-4000-8000-000000000000" }

// someState is the state of a limiter that has used 3 of 10 calls, and one of
// another key, in the method's window.
func someState(t testing.TB) []byte {
	t.Helper()
	keys := []riftrelay.Key{{Name: "main", Value: canaryKey()}, {Name: "spare", Value: "RGAPI-spare"}}
	l, r := mustNew(t, riftrelay.Config{Keys: keys, Pacing: riftrelay.PacingBurst}, "20:1,100:120", "10:600")
	for i, pin := range []int{0, 0, 1} {
		p, err := l.Acquire(t.Context(), r, riftrelay.Options{Key: keyAt(l, pin)})
		if err != nil {
			t.Fatal(i, err)
		}
		p.Sent()
		p.Observe(200, learned("20:1,100:120", "10:600"))
	}
	l.Close()
	var b bytes.Buffer
	if err := l.SaveState(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func successor(t testing.TB, keys ...riftrelay.Key) *riftrelay.Limiter {
	t.Helper()
	l, err := riftrelay.New(riftrelay.Config{Table: table, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func usedOf(l *riftrelay.Limiter, method bool) map[string]int {
	used := map[string]int{}
	for _, s := range l.Snapshot().Scopes {
		if (s.Method != "") == method && len(s.Windows) > 0 {
			used[s.Key] = s.Windows[len(s.Windows)-1].Used
		}
	}
	return used
}

// Keys are found again whatever their name and place, and are not in the file.
func TestStateFollowsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := someState(t)
		for _, secret := range []string{canaryKey(), "CANARY", "RGAPI", "spare", "main"} {
			if bytes.Contains(state, []byte(secret)) {
				t.Errorf("%q is in the state: %s", secret, state)
			}
		}
		time.Sleep(time.Second)
		l := successor(t, riftrelay.Key{Name: "new", Value: "RGAPI-new"}, riftrelay.Key{Name: "other-name", Value: canaryKey()})
		got, err := l.LoadState(bytes.NewReader(state))
		if err != nil || got.Saved != 4 || got.Scopes != 2 || got.Age != time.Second {
			t.Fatalf("%+v, %v", got, err)
		}
		if used := usedOf(l, true); len(used) != 1 || used["other-name"] != 3 {
			t.Errorf("used %v, want 3 of the key that was there", used)
		}
		if used := usedOf(l, false); len(used) != 1 || used["other-name"] != 3 {
			t.Errorf("application: used %v", used)
		}

		time.Sleep(time.Hour)
		l = successor(t, riftrelay.Key{Value: canaryKey()})
		if got, err := l.LoadState(bytes.NewReader(state)); err != nil || got.Scopes != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		if used := usedOf(l, true); used["key0"] != 0 {
			t.Errorf("%v used after an hour", used)
		}
		if w := l.Snapshot().Scopes[1].Windows; len(w) != 1 || w[0].Limit != 10 {
			t.Errorf("the limits are gone: %+v", w)
		}
	})
}

// A key that Riot didn't know is not trusted again because of a restart.
func TestStateKeepsSuspects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := []riftrelay.Key{{Name: "main", Value: canaryKey()}, {Name: "spare", Value: "RGAPI-spare"}}
		l := successor(t, keys...)
		time.Sleep(time.Second)
		for _, url := range []string{byPUUID, account} {
			p, err := l.Acquire(t.Context(), mustMatch(t, url), riftrelay.Options{Key: keyAt(l, 0)})
			if err != nil {
				t.Fatal(err)
			}
			p.Sent()
			p.Observe(http.StatusUnauthorized, http.Header{"Content-Type": {"application/json"}})
		}
		l.Close()
		var state bytes.Buffer
		if err := l.SaveState(&state); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		l = successor(t, keys[1], keys[0])
		if _, err := l.LoadState(&state); err != nil {
			t.Fatal(err)
		}
		k := l.Snapshot().Keys
		if !k[0].Usable || k[1].Usable || len(k[1].Reasons) != 2 || !strings.HasPrefix(k[1].Reasons[0], "401") || !strings.HasSuffix(k[1].Reasons[0], " 10 s ago") {
			t.Errorf("keys %+v", k)
		}
	})
}

func TestDamagedState(t *testing.T) {
	good := someState(t)
	for name, bad := range map[string]string{
		"empty":         "",
		"cut":           string(good[:len(good)/2]),
		"no JSON":       "\x00\x01\x02",
		"a list":        "[]",
		"version":       strings.Replace(string(good), `"version":1`, `"version":2`, 1),
		"no version":    "{}",
		"bounds":        strings.Replace(string(good), `"n":10,`, `"n":-10,`, 1),
		"suspect":       strings.Replace(string(good), `"hosts":`, `"suspects":[{"status":7}],"hosts":`, 1),
		"two in one":    string(good) + string(good),
		"endless depth": strings.Repeat("[", 1e6),
	} {
		l := successor(t, riftrelay.Key{Value: canaryKey()})
		if _, err := l.LoadState(strings.NewReader(bad)); !errors.Is(err, riftrelay.ErrState) {
			t.Errorf("%s: %v, want ErrState", name, err)
		}
		if n := len(l.Snapshot().Scopes); n != 0 {
			t.Errorf("%s: %d scopes were taken over", name, n)
		}
	}
	l := successor(t)
	if _, err := l.LoadState(iotest.ErrReader(io.ErrClosedPipe)); errors.Is(err, riftrelay.ErrState) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// FuzzLoadState: whatever the file, nothing panics, and what is taken over can
// be used and saved again.
func FuzzLoadState(f *testing.F) {
	good := someState(f)
	f.Add(good)
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		garbled := bytes.Clone(good)
		for range 1 + rnd.IntN(4) {
			garbled[rnd.IntN(len(garbled))] = "0123456789-{}[],:\"e"[rnd.IntN(19)]
		}
		f.Add(garbled[:1+rnd.IntN(len(garbled))])
		f.Add(garbled)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := riftrelay.New(riftrelay.Config{Table: table, Keys: []riftrelay.Key{{Value: canaryKey()}}})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if _, err := l.LoadState(bytes.NewReader(data)); err != nil {
			return
		}
		r := mustMatch(t, byPUUID)
		if p, err := l.TryAcquire(r, riftrelay.Options{}); err == nil {
			p.Sent()
			p.Observe(200, http.Header{"X-Method-Rate-Limit": {"10:600"}, "X-Method-Rate-Limit-Count": {"1:600"}})
		}
		l.Snapshot()
		if err := l.SaveState(io.Discard); err != nil {
			t.Error(err)
		}
	})
}
