package riftrelay_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/internal/limit"
	"riftrelay/internal/memstore"
	"riftrelay/riotsim"
	"riftrelay/route"
)

// A replica with 300 budgets that has nothing to do asks nothing while
// another calls on 20 new ones, or again on 20 that both had used long ago.
func TestNewBudgetsOfOthersCostLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lib := patient
		const keys, most = 100, 20
		for i := range keys + most {
			lib.Keys = append(lib.Keys, riftrelay.Key{Name: fmt.Sprint("k", i), Value: fmt.Sprint("RGAPI-", i)})
		}
		f := newFlock(t, oneLimit("500:10"), lib, time.Millisecond, time.Millisecond)
		call := func(r *replica, key int, host string) {
			url := "https://" + host + ".api.riotgames.com/lol/summoner/v4/summoners/by-puuid/p"
			ctx := riftrelay.WithOptions(t.Context(), riftrelay.Options{Key: riftrelay.Key{Name: lib.Keys[key].Name}})
			if err := get(ctx, r.client, url); err != nil {
				t.Fatal(err)
			}
		}
		for i := range keys {
			for _, h := range []string{"euw1", "na1", "kr"} {
				call(f.replicas[0], i, h)
			}
		}
		time.Sleep(30 * time.Second)
		calls := &f.replicas[0].store.calls
		for name, first := range map[string]int{"new": keys, "old": 0} {
			if name == "old" {
				f.store.Forget() // as a server does with budgets that were not used for long
			}
			before := calls.Load()
			for i := range most { // one a second
				call(f.replicas[1], first+i, "euw1")
				time.Sleep(time.Second)
			}
			if n := calls.Load() - before; n > 0 {
				t.Errorf("%s: %d questions of a replica that has nothing to do, for %d budgets of another", name, n, most)
			}
		}
	})
}

// listened is a store that knows how many listen to its hints.
type listened struct {
	limit.Store
	now *atomic.Int64
}

func (s listened) Hints(ctx context.Context) <-chan limit.Hint {
	s.now.Add(1)
	context.AfterFunc(ctx, func() { s.now.Add(-1) })
	return s.Store.Hints(ctx)
}

// Limiters that come and go leave nothing in the store that they shared.
func TestClosedLimitersListenNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		store := memstore.NewMemoryStore(func() limit.Instant { return limit.Instant(time.Since(began)) })
		defer store.Close()
		var now atomic.Int64
		for range 50 {
			cfg := patient
			cfg.Keys = []riftrelay.Key{{Name: "main", Value: "RGAPI-sim"}}
			cfg.Store = listened{Store: store, now: &now}
			l, err := riftrelay.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if now.Load() != 1 {
				t.Fatalf("%d listen, want 1", now.Load())
			}
			l.Close()
			synctest.Wait()
		}
		if n := now.Load(); n != 0 {
			t.Errorf("%d listen that were closed", n)
		}
	})
}

// A replica with a METHODS_FILE of its own, in which a parameter has another
// name, shares the method's limit with the others.
func TestParametersOfOtherNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := oneLimit("1000:10")
		cfg.MethodLimits = []riotsim.Rule{{Limit: "50:5"}}
		f := newFlock(t, cfg, patient, time.Millisecond, time.Millisecond)
		_, path, _ := strings.Cut(byPUUID, ".com")
		r, err := table.Match("GET", "euw1", path)
		if err != nil {
			t.Fatal(err)
		}
		template := r.Method.String()
		name := template[strings.Index(template, "{"):strings.Index(template, "}")]
		other, err := route.New(route.Options{Methods: strings.NewReader("GET " + strings.Replace(template, name, name+"X", 1) + " summoner-v4 * key")})
		if err != nil {
			t.Fatal(err)
		}
		f.lib.Table = other
		f.add(t, time.Millisecond)
		during(t, 25*time.Second, func(ctx context.Context, wg *sync.WaitGroup) {
			for _, r := range f.replicas {
				r.load(ctx, wg, 20, byPUUID)
			}
		})
		f.mustHold(t)
		shares := []float64{}
		for _, r := range f.replicas {
			shares = append(shares, float64(r.served.Load()))
		}
		if jain(shares) < 0.9 {
			t.Errorf("shares %v", shares)
		}
	})
}
