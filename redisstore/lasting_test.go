package redisstore

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// full is a question for more of 100 calls in two minutes than there are.
func full() *limit.Ask {
	return &limit.Ask{
		Budget: aBudget, Replica: "a", Burst: 1, Margin: 20 * time.Millisecond, Assumed: []limit.Quota{{N: 100, W: 2 * time.Minute}},
		Demands: []limit.Demand{{Method: "m", Want: [2]int{200, 0}}},
	}
}

// filled returns a store with a clock of the test's on which all of 100:120 is
// granted and reported, and the last reply.
func filled(t *testing.T, server *server, now *int64) (bare, limit.Reply) {
	t.Helper()
	stored := bare{realWithClock(t, server), now}
	admit := func(a *limit.Ask) limit.Reply {
		t.Helper()
		r, err := stored.Admit(a)
		if err != nil {
			t.Fatal(err)
		}
		*now += 2
		return r
	}
	admit(full())
	*now += 300
	a := full()
	a.Demands = nil
	for _, method := range []string{"", "m"} {
		a.Facts = append(a.Facts, limit.Fact{Method: method, Passed: true, Counted: true, Limits: a.Assumed})
	}
	admit(a)
	server.do("SAVE") // with the limits, and nothing granted
	r := admit(full())
	if len(r.Grants) != 100 {
		t.Fatalf("%d granted, want 100", len(r.Grants))
	}
	done := full()
	done.Demands = nil
	for _, g := range r.Grants {
		done.Done = append(done.Done, limit.Done{Stub: g.Stub})
	}
	return stored, admit(done)
}

// A server that starts with a snapshot of before grants nothing a second time:
// its epoch is another, and replicas tell what they have spent.
func TestServerComesBackWithASnapshot(t *testing.T) {
	server := startServer(t)
	now := int64(1_790_000_000_000)
	stored, before := filled(t, server, &now)
	server.Kill()
	server.start()
	again := func(a *limit.Ask) limit.Reply {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; {
			r, err := stored.Admit(a)
			if err == nil {
				return r
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	if n := server.do("DBSIZE"); n == int64(0) {
		t.Fatal("the server came back empty")
	}
	now += 1000
	r := again(full())
	if len(r.Grants) > 0 || r.Epoch == before.Epoch || r.App.Known {
		t.Errorf("after the restart: %d granted, epoch %d after %d, %+v", len(r.Grants), r.Epoch, before.Epoch, r.App)
	}
	a := full()
	a.Merge = &limit.Merge{Process: 1, Number: 1, Epoch: r.Epoch, Scopes: []limit.Account{
		{Saved: limit.Saved{Windows: []limit.SavedWindow{{N: 100, W: 2 * time.Minute, Own: []limit.SavedCharge{{Age: time.Second, N: 100}}}}}},
	}}
	again(a)
	epoch := r.Epoch
	for range 100 {
		now += 1000
		if r = again(full()); len(r.Grants) > 0 || r.Epoch != epoch {
			t.Fatalf("%d granted a second time, epoch %d after %d", len(r.Grants), r.Epoch, epoch)
		}
	}
}

// What is stored outlives the longest window by a minute, and as long as it is
// used: how far away its end is never decides anything.
func TestStoredAsLongAsItCounts(t *testing.T) {
	server := startServer(t)
	now := int64(1_790_000_000_000)
	stored, r := filled(t, server, &now)
	key := stored.keyOf(aBudget)
	left := func() time.Duration {
		return time.Duration(server.do("PTTL", key).(int64)) * time.Millisecond
	}
	const least = 3*time.Minute - 5*time.Second // the test itself takes time
	if d := left(); d < least || d > 4*time.Minute {
		t.Errorf("stored for %v after the last use; want the window of 2 min and a minute", d)
	}
	for range 20 {
		server.do("PEXPIRE", key, 170_000) // time passes for the server as well
		now += 11_000
		again, err := stored.Admit(full())
		if err != nil {
			t.Fatal(err)
		}
		if again.Epoch != r.Epoch {
			t.Fatal("the epoch is another while it is used")
		}
		if d := left(); d < least {
			t.Fatalf("stored for %v after a use", d)
		}
	}
	a := full()
	a.Facts = []limit.Fact{{Method: "n", Passed: true, Counted: true, Limits: []limit.Quota{{N: 10, W: time.Hour}}}}
	if _, err := stored.Admit(a); err != nil {
		t.Fatal(err)
	}
	if d := left(); d < time.Hour+55*time.Second {
		t.Errorf("stored for %v with a window of an hour", d)
	}
}

// Charges of two minutes are there while calls go on, and after a pause of just
// less than a window: on a server whose keys end.
func TestChargesOutliveAPause(t *testing.T) {
	mini := startMini(t)
	now := int64(1_790_000_000_000)
	s := patient(t, "redis://"+mini.Addr(), nil)
	stored := bare{s, &now}
	pass := func(d time.Duration) {
		now += d.Milliseconds()
		mini.FastForward(d)
		mini.SetTime(time.UnixMilli(now))
	}
	admit := func(a *limit.Ask) limit.Reply {
		t.Helper()
		r, err := stored.Admit(a)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	pass(0)
	epoch := admit(full()).Epoch
	pass(time.Second)
	a := full()
	a.Facts = []limit.Fact{{Passed: true, Counted: true, Limits: a.Assumed}, {Method: "m", Passed: true, Counted: true, Limits: a.Assumed}}
	admit(a)
	for range 10 { // ten minutes of calls
		pass(time.Minute)
		if r := admit(full()); r.Epoch != epoch {
			t.Fatal("the budget was forgotten while it was used")
		}
	}
	pass(2*time.Minute + 2*time.Second)
	if n := len(admit(full()).Grants); n != 100 {
		t.Fatalf("%d granted after a window, want 100", n)
	}
	pass(119 * time.Second)
	if r := admit(full()); len(r.Grants) > 0 || r.Epoch != epoch {
		t.Errorf("%d granted within the window, epoch %d after %d", len(r.Grants), r.Epoch, epoch)
	}
}

// One server has one clock, however many budgets there are; the parts of a
// cluster have one for each slot.
func TestClocksAreBounded(t *testing.T) {
	s := patient(t, "redis://"+startMini(t).Addr(), nil)
	for i := range 1000 {
		ask := oneCall()
		ask.Budget.Key = string(rune('a'+i%26)) + ask.Budget.Key + string(rune('a'+i/26))
		if _, err := s.Admit(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.clocks); n != 1 {
		t.Errorf("%d clocks of one server", n)
	}
	for key, slot := range map[string]int{"123456789": 12739, "foo": 12182, "riftrelay:{foo}:2": 12182, "{}foo": slotOf("{}foo")} {
		if n := slotOf(key); n != slot || n < 0 || n > 16383 {
			t.Errorf("slot %d of %q, want %d", n, key, slot)
		}
	}
}

// A user of before, without the right to INFO, is enough to go on.
func TestUserWithoutInfo(t *testing.T) {
	server := startServer(t)
	server.do(documentedUser(t)...)
	server.do("ACL", "SETUSER", "riftrelay", "-info")
	s := patient(t, "redis://riftrelay:PASSWORD@"+server.Addr, nil)
	granted(t, s)
}
