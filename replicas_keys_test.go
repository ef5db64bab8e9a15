package riftrelay_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
)

func (r *replica) keyIs(t *testing.T, want riftrelay.KeyCondition) {
	t.Helper()
	if k := r.limiter.Snapshot().Keys[0]; k.State != want {
		t.Errorf("the key is %s, want %s: %v", k.State, want, k.Reasons)
	}
}

// A store that has forgotten is told again which keys Riot doesn't know, so
// that replicas that come later need not find out.
func TestSuspectKeyIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, oneLimit("500:10"), patient, time.Millisecond, 10*time.Millisecond)
		get(t.Context(), f.replicas[0].client, byPUUID)
		time.Sleep(3 * time.Second)
		f.edge.SetKey("RGAPI-sim", 401)
		get(t.Context(), f.replicas[0].client, byPUUID)
		get(t.Context(), f.replicas[0].client, account)
		time.Sleep(1100 * time.Millisecond)
		f.replicas[1].keyIs(t, riftrelay.KeySuspect)
		f.store.Forget()
		time.Sleep(2200 * time.Millisecond) // a beat that finds it missing, and one that tells
		late := f.add(t, time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		late.keyIs(t, riftrelay.KeySuspect)
	})
}

// An operator disables a key at one replica, and enables it at another: it goes
// for all at once, also for those that come later, and when the store has
// forgotten.
func TestDisabledKeyIsDisabledForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, oneLimit("500:10"), patient, time.Millisecond, 10*time.Millisecond)
		time.Sleep(3 * time.Second)
		mustDo(t, f.replicas[0].limiter.DisableKey, "main")
		time.Sleep(100 * time.Millisecond)
		f.replicas[1].keyIs(t, riftrelay.KeyDisabled)

		time.Sleep(3 * time.Minute)
		late := f.add(t, time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		late.keyIs(t, riftrelay.KeyDisabled)
		if k := late.limiter.Snapshot().Keys[0]; len(k.Reasons) != 1 || k.Reasons[0] != "disabled 3 min ago" {
			t.Errorf("%v", k.Reasons)
		}

		f.store.Forget()
		time.Sleep(2200 * time.Millisecond)
		later := f.add(t, time.Millisecond)
		time.Sleep(100 * time.Millisecond)
		later.keyIs(t, riftrelay.KeyDisabled)

		mustDo(t, f.replicas[1].limiter.EnableKey, "main")
		time.Sleep(100 * time.Millisecond)
		for _, r := range f.replicas {
			r.keyIs(t, riftrelay.KeyUsable)
		}
	})
}

// What is decided while the store is away holds here at once, and everywhere
// once it is back.
func TestDisabledKeyWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, oneLimit("500:10"), patient, time.Millisecond, 10*time.Millisecond)
		time.Sleep(3 * time.Second)
		f.away.Store(true)
		time.Sleep(5 * time.Second)
		mustDo(t, f.replicas[0].limiter.DisableKey, "main")
		f.replicas[0].keyIs(t, riftrelay.KeyDisabled)
		f.away.Store(false)
		time.Sleep(3 * time.Second)
		for _, r := range f.replicas {
			r.keyIs(t, riftrelay.KeyDisabled)
		}
	})
}

// A replica that was away while a key was enabled doesn't disable it again by
// what it has saved.
func TestSavedStateDoesNotDisableForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, oneLimit("500:10"), patient, time.Millisecond, 10*time.Millisecond)
		time.Sleep(3 * time.Second)
		mustDo(t, f.replicas[0].limiter.DisableKey, "main")
		time.Sleep(time.Second)
		var saved bytes.Buffer
		if err := f.replicas[0].limiter.SaveState(&saved); err != nil {
			t.Fatal(err)
		}
		mustDo(t, f.replicas[1].limiter.EnableKey, "main")
		for _, wait := range []time.Duration{0, 100 * time.Millisecond} { // for the store's first word
			again := f.add(t, time.Millisecond)
			time.Sleep(wait)
			if _, err := again.limiter.LoadState(bytes.NewReader(saved.Bytes())); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			for _, r := range f.replicas {
				r.keyIs(t, riftrelay.KeyUsable)
			}
		}
	})
}
