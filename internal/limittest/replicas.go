package limittest

import (
	"context"
	"maps"
	"slices"
	"time"

	"riftrelay/internal/limit"
)

// replicas are the promises of what replicas hear of each other.
var replicas = []promise{
	{"what a replica spent on its own is charged", func(u *user) {
		u.know("10:1", "m", wide)
		u.merge("", limit.SavedWindow{N: 10, W: time.Second, Own: []limit.SavedCharge{{Age: 500 * time.Millisecond, N: 2}, {Age: 100 * time.Millisecond, N: 5}}})
		u.mustGrant("b", "m", 10, 3)
		u.Wait(510 * time.Millisecond)
		u.mustGrant("b", "m", 10, 2)
	}},
	{"a store that knows nothing learns limits, charges and stops of replicas", func(u *user) {
		u.merge("", limit.SavedWindow{N: 10, W: time.Second, Own: []limit.SavedCharge{{Age: -2 * time.Second, N: 4}}})
		u.tell(2, 0, limit.Account{Method: "m", Saved: limit.Saved{Stop: time.Second, Cause: limit.Method}})
		r := u.admit(asking("b", want("m", 1)))
		if len(r.App.Windows) != 1 || r.App.Windows[0].N != 10 || r.App.Windows[0].Used != 4 {
			u.Errorf("application %+v", r.App)
		}
		if v := r.Views[0]; v.Stop < 990*time.Millisecond-u.Slack || v.Cause != limit.Method {
			u.Errorf("method %+v", v)
		}
	}},
	{"what was merged is nobody else's when Riot counts it", func(u *user) {
		u.know("20:2", "m", wide)
		r := u.admit(asking("a", want("m", 1)))
		u.merge("", limit.SavedWindow{N: 20, W: 2 * time.Second, Own: []limit.SavedCharge{{N: 5}}})
		f := passed("", "20:2")
		f.Counts, f.Bases = quotas("6:2"), r.App.Bases()
		u.teach(f)
		if v := u.admit(asking("a")).App.Windows[0]; v.Others > 0 {
			u.Errorf("%+v", v)
		}
	}},
	{"a replica that beats lives, one that is silent does not", func(u *user) {
		if p := u.beat("a"); p.Live != 1 {
			u.Errorf("%d live, want 1", p.Live)
		}
		if p := u.beat("b"); p.Live != 2 || p.Rank != 1 {
			u.Errorf("%+v; want 2 that live, of which it is the second by name", p)
		}
		if p := u.beat("a"); p.Rank != 0 {
			u.Errorf("%+v; want the first by name", p)
		}
		u.Wait(limit.PeerTimeout - 500*time.Millisecond)
		if p := u.beat("b"); p.Live != 2 {
			u.Errorf("%d live, want 2 still", p.Live)
		}
		u.Wait(510 * time.Millisecond)
		if p := u.beat("b"); p.Live != 1 {
			u.Errorf("%d live, want 1", p.Live)
		}
	}},
	{"the health of keys is told to all, the last word counts", func(u *user) {
		u.beat("a", limit.KeyHealth{Key: "k1", Is: true, For: 2 * time.Second}, limit.KeyHealth{Key: "k2"})
		u.Wait(100 * time.Millisecond)
		keys := u.beat("b").Keys
		slices.SortFunc(keys, func(x, y limit.KeyHealth) int { return len(x.Key) - len(y.Key) + int(x.Key[1]) - int(y.Key[1]) })
		if len(keys) != 2 || !keys[0].Is || keys[1].Is || keys[0].For < 2090*time.Millisecond {
			u.Errorf("%+v", keys)
		}
		u.beat("b", limit.KeyHealth{Key: "k1"})
		for _, k := range u.beat("a").Keys {
			if k.Is {
				u.Errorf("%+v is not healed", k)
			}
		}
	}},
	{"that a key is disabled is told apart from its health", func(u *user) {
		u.beat("a", limit.KeyHealth{Key: "k", Is: true}, limit.KeyHealth{Key: "k", Of: limit.KeyDisabled, Is: true})
		u.beat("b", limit.KeyHealth{Key: "k"})
		for _, k := range u.beat("a").Keys {
			if k.Key != "k" || k.Is != (k.Of == limit.KeyDisabled) {
				u.Errorf("%+v", k)
			}
		}
		if keys := u.beat("a").Keys; len(keys) != 2 {
			u.Errorf("%+v", keys)
		}
	}},
	{"J of those that asked is told", func(u *user) {
		near, far := asking("near"), asking("far")
		near.Margin = 30 * time.Millisecond
		far.Margin = 80 * time.Millisecond
		for _, ask := range []*limit.Ask{near, far} {
			ask.Demands = []limit.Demand{want("m", 1)}
			u.admit(ask)
		}
		if r := u.admit(near); r.Margin != 80*time.Millisecond {
			u.Errorf("J %v; want 80ms", r.Margin)
		}
	}},
	{"the epoch is another only when all is forgotten", func(u *user) {
		u.know("5:1", "m", wide)
		before := u.admit(asking("a")).Epoch
		u.Wait(3 * time.Second)
		if now := u.admit(asking("b")).Epoch; now != before || now == 0 {
			u.Errorf("epoch %d after %d", now, before)
		}
		if u.Lose == nil {
			return
		}
		u.Lose()
		u.Wait(5 * time.Millisecond)
		r := u.admit(asking("a", want("m", 1)))
		if r.Epoch == before || r.App.Known || len(r.Grants) > 0 {
			u.Errorf("after all was lost: %+v", r)
		}
	}},
	{"a stop, its end and a raised limit are hinted at", func(u *user) {
		u.know("5:1", "m", wide)
		hints := u.Store.Hints(u.Context())
		u.Wait(u.Slack)
		u.drain(hints)
		u.teach(passed("", "9:1"))
		u.mustHint(hints, limit.Hint{Budget: budget})
		u.teach(limit.Fact{Method: "m", Stop: 100 * time.Millisecond, Cause: limit.Method})
		u.mustHint(hints, limit.Hint{Budget: budget})
		u.Wait(110 * time.Millisecond)
		u.sent(0, u.mustGrant("a", "m", 1, 1)...)
		u.teach(passed("m", wide))
		u.mustHint(hints, limit.Hint{Budget: budget})
		u.beat("a", limit.KeyHealth{Key: "k", Is: true})
		u.mustHint(hints, limit.Hint{Beat: true})
	}},
	{"a new budget is hinted at with its epoch, and as no other", func(u *user) {
		hints := u.Store.Hints(u.Context())
		u.Wait(u.Slack)
		u.drain(hints)
		other := limit.Budget{Key: budget.Key, Host: "na1"}
		ask := asking("a", want("m", 1))
		ask.Budget = other
		epoch := u.admit(ask).Epoch
		for first := true; ; first = false {
			h := <-hints
			if first && h == (limit.Hint{}) {
				continue // of the subscription
			}
			if h != (limit.Hint{Budget: other, Epoch: epoch}) {
				u.Errorf("%+v; want %+v in epoch %d", h, other, epoch)
			}
			return
		}
	}},
	{"a channel of hints ends with its context", func(u *user) {
		ctx, cancel := context.WithCancel(context.Background())
		hints := u.Store.Hints(ctx)
		cancel()
		for range hints { // until it is closed
		}
	}},
	{"replicas whose tables name a method's parameter otherwise share its budget", func(u *user) {
		u.know("100:120", "/m/{puuid}/by/{id}", "5:120")
		u.sent(0, u.mustGrant("a", "/m/{puuid}/by/{id}", 9, 5)...)
		u.mustWait("b", "/m/{encryptedPUUID}/by/{matchId}", limit.WaitCharges)
		u.mustGrant("b", "/m/{puuid}/of/{id}", 1, 1)
	}},
	{"what was said of a key is forgotten after a day, unless it is said again", func(u *user) {
		u.beat("a", limit.KeyHealth{Key: "dead", Is: true}, limit.KeyHealth{Key: "well"}, limit.KeyHealth{Key: "kept", Is: true, For: 20 * time.Hour})
		u.Wait(23 * time.Hour)
		u.beat("a", limit.KeyHealth{Key: "kept", Is: true, For: 43 * time.Hour})
		if keys := u.beat("a").Keys; len(keys) != 3 {
			u.Errorf("after 23 hours: %+v", keys)
		}
		u.Wait(90 * time.Minute)
		if keys := u.beat("a").Keys; len(keys) != 1 || keys[0].Key != "kept" || !keys[0].Is {
			u.Errorf("after a day: %+v", keys)
		}
	}},
	{"each call of Hints gives a channel of its own", func(u *user) {
		one, two := u.Store.Hints(u.Context()), u.Store.Hints(u.Context())
		u.Wait(u.Slack)
		u.drain(one)
		u.drain(two)
		u.beat("a", limit.KeyHealth{Key: "k", Is: true})
		u.mustHint(one, limit.Hint{Beat: true})
		u.mustHint(two, limit.Hint{Beat: true})
	}},
	{"after Close every call fails, and hints end", func(u *user) {
		hints := u.Store.Hints(u.Context())
		if err := u.Store.Close(); err != nil {
			u.Error(err)
		}
		if err := u.Store.Close(); err != nil {
			u.Errorf("closed twice: %v", err)
		}
		ctx := context.Background()
		if _, err := u.Store.Admit(ctx, asking("a", want("m", 1))); err == nil {
			u.Error("Admit works still")
		}
		if _, err := u.Store.Beat(ctx, "a", nil); err == nil {
			u.Error("Beat works still")
		}
		u.drain(hints)
		for _, c := range []<-chan limit.Hint{hints, u.Store.Hints(u.Context())} {
			select {
			case _, open := <-c:
				if open {
					u.Error("a hint from a closed store")
				}
			case <-time.After(5 * time.Second):
				u.Error("hints don't end")
			}
		}
	}},
	{"nothing is granted to one who has gone", func(u *user) {
		u.know("1:1", "m", wide)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := u.Store.Admit(ctx, asking("a", want("m", 1))); err == nil {
			u.Error("no error")
		}
		u.mustGrant("b", "m", 1, 1)
	}},
}

// merge tells what a replica spent on its own, for the first time.
func (u *user) merge(method string, w limit.SavedWindow) {
	u.Helper()
	u.tell(1, 0, limit.Account{Method: method, Saved: limit.Saved{Windows: []limit.SavedWindow{w}}})
}

// tell tells it with a number and the epoch that the replica last heard of.
func (u *user) tell(number, epoch int64, scopes ...limit.Account) limit.Reply {
	u.Helper()
	ask := asking("merger")
	ask.Merge = &limit.Merge{Process: 7, Number: number, Epoch: epoch, Scopes: scopes}
	return u.admit(ask)
}

func (u *user) beat(replica string, keys ...limit.KeyHealth) limit.Peers {
	u.Helper()
	p, err := u.Store.Beat(context.Background(), replica, keys)
	if err != nil {
		u.Fatal(err)
	}
	return p
}

// drain takes out the hints that have come.
func (u *user) drain(hints <-chan limit.Hint) {
	for {
		select {
		case _, open := <-hints:
			if !open {
				return
			}
		default:
			return
		}
	}
}

// mustHint waits for a hint, which a store that is far takes a while to send. An
// epoch of 1 stands for any.
func (u *user) mustHint(hints <-chan limit.Hint, want limit.Hint) {
	u.Helper()
	for {
		select {
		case got, open := <-hints:
			if got.Epoch = min(got.Epoch, 1); got == want && open {
				return
			}
			if !open {
				u.Fatal("hints have ended")
			}
		case <-time.After(5 * time.Second):
			u.Fatalf("no hint of %+v", want)
		}
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
