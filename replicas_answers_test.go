package riftrelay_test

import (
	"testing"
	"testing/synctest"
	"time"

	"riftrelay/internal/limit"
)

// A store that gives more than it was asked for is not believed: nothing of the
// answer is taken over, and the replicas go on within their shares.
func TestStoreTalksNonsense(t *testing.T) {
	scenario(t, "nonsense", 1, patient, func(t *testing.T, f *flock, _ int) {
		twice := func(r *limit.Reply) {
			r.Grants = append(r.Grants, r.Grants...)
			r.App.Windows = append(r.App.Windows, limit.WindowView{}) // a limit of 0 in no time
		}
		for _, r := range f.replicas {
			r.store.spoils.Store(&twice)
		}
		before := f.replicas[0].served.Load()
		time.Sleep(10 * time.Second)
		if n := f.replicas[0].served.Load() - before; n < 100 {
			t.Errorf("%d calls of a replica whose share is 150", n)
		}
		for _, r := range f.replicas {
			r.store.spoils.Store(nil)
		}
	}, recovered(35*time.Second))
}

// What is wrong with an answer is told once, and that the store is back.
func TestNonsenseIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, oneLimit("100:2"), patient, time.Millisecond)
		spoil := func(r *limit.Reply) { r.Waits = nil }
		f.replicas[0].store.spoils.Store(&spoil)
		if err := get(t.Context(), f.replicas[0].client, byPUUID); err != nil {
			t.Error(err)
		}
		const want = "limit: a store's answer has 0 waits and 1 views for 1 demands"
		if s := f.replicas[0].limiter.Snapshot().Store; s == nil || s.Away != want {
			t.Errorf("the state is %+v, want %q", s, want)
		}
	})
}

// An error that can leave out that the store is away is asked to: whoever shows
// it says so first.
func TestStoreAwayIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t, oneLimit("100:2"), patient, time.Millisecond)
		f.replicas[0].store.refuses.Store(true)
		if err := get(t.Context(), f.replicas[0].client, byPUUID); err != nil {
			t.Error(err)
		}
		if s := f.replicas[0].limiter.Snapshot().Store; s == nil || s.Away != "it fails" {
			t.Errorf("the state is %+v", s)
		}
	})
}
