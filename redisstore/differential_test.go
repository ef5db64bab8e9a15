package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"riftrelay/internal/limit"
	"riftrelay/internal/memstore"
)

// The store in Redis gives the same answers as the one in memory, to all that
// replicas may ask, in any order.
func TestSameAsMemory(t *testing.T) {
	t.Run("real", func(t *testing.T) {
		const seeds, steps = 25 / thin, 4000
		server := startServer(t)
		for seed := range uint64(seeds) {
			compareSteps(t, seed+1, steps, realWithClock(t, server), func(int64) {})
		}
		t.Logf("%d steps on a real server", seeds*steps)
	})
	t.Run("miniredis", func(t *testing.T) {
		const seeds, steps = 10 / thin, 1000
		for seed := range uint64(seeds) {
			mini := startMini(t)
			s := patient(t, "redis://"+mini.Addr(), nil)
			compareSteps(t, seed+1, steps, s, func(ms int64) { mini.SetTime(time.UnixMilli(ms)) })
		}
		t.Logf("%d steps on miniredis", seeds*steps)
	})
}

// realWithClock returns an empty store on a real server whose scripts take the
// time from the test: a build of them for tests alone.
func realWithClock(t testing.TB, server *server) *Store {
	t.Helper()
	scripts := newScripts(func(text string) string {
		const clock = "redis.call('TIME')"
		if strings.Count(text, clock) != 1 {
			t.Fatalf("a script reads the clock %d times", strings.Count(text, clock))
		}
		return strings.Replace(text, clock, "{ARGV[6], ARGV[7]}", 1)
	})
	server.do("FLUSHALL")
	s, err := newStore(t.Context(), Options{URL: "unix://" + server.Socket(), Timeout: 5 * time.Second}, scripts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// bare calls the scripts without deadlines and the watch over the clock, which
// would take each step of the tests' time for a jump.
type bare struct {
	*Store
	now *int64 // ms
}

func (b bare) exec(p script, key, name, ask string) ([]any, error) {
	reply, err := b.run(context.Background(), p, key, int64(1)<<52, b.o.Prefix+"hints", name, ask, *b.now/1000, *b.now%1000*1000)
	if err != nil {
		return nil, err
	}
	return reply[2:], nil
}

func (b bare) Admit(ask *limit.Ask) (limit.Reply, error) {
	reply, err := b.exec(b.scripts.admit, b.keyOf(ask.Budget), nameOf(ask.Budget), encodeAsk(ask))
	if err != nil {
		return limit.Reply{}, err
	}
	return decodeReply(ask, reply)
}

func (b bare) Beat(replica string, keys []limit.KeyHealth) (limit.Peers, error) {
	reply, err := b.exec(b.scripts.beat, b.o.Prefix+peersTag, "", encodeBeat(replica, keys))
	if err != nil {
		return limit.Peers{}, err
	}
	return decodePeers(reply)
}

func compareSteps(t *testing.T, seed uint64, steps int, s *Store, setTime func(ms int64)) {
	t.Helper()
	now := int64(1_790_000_000_000)
	memory := memstore.NewMemoryStore(func() limit.Instant { return limit.Instant((now - 1) * 1_000_000) })
	stored := bare{s, &now}
	e := newEvents(seed)
	granted := 0
	for step := range steps {
		now += e.pause()
		setTime(now)
		fail := func(what any, diff string) {
			t.Fatalf("seed %d, step %d: %+v\nmemory's answer -, Redis' +:\n%s", seed, step, what, diff)
		}
		switch k := e.r.IntN(100); {
		case k < 96:
			ask := e.ask()
			want, err := memory.Admit(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			got, err := stored.Admit(ask)
			if err != nil {
				fail(ask, err.Error())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				fail(ask, diff)
			}
			granted += len(got.Grants)
			e.took(ask, got)
		default:
			replica, keys := e.replica(), e.health()
			want, err := memory.Beat(t.Context(), replica, keys)
			if err != nil {
				t.Fatal(err)
			}
			got, err := stored.Beat(replica, keys)
			if err != nil {
				fail(keys, err.Error())
			}
			if diff := cmp.Diff(want, got); diff != "" {
				fail(keys, diff)
			}
		}
	}
	if granted < steps/50 {
		t.Errorf("seed %d: %d permits in %d steps: the events show little", seed, granted, steps)
	}
}

// events makes up what replicas do.
type events struct {
	r       *rand.Rand
	calm    bool // all goes well: no long pauses, and only counts of our own
	lists   [][]limit.Quota
	app     int // which of lists is the application's
	pending []held
	past    []limit.Done
	merges  []limit.Merge
}

// held is a permit, with what its answer will be compared with.
type held struct {
	budget limit.Budget
	done   limit.Done
	app    limit.View
	method limit.View
}

func newEvents(seed uint64) *events {
	e := &events{r: rand.New(rand.NewPCG(seed, 5))}
	e.calm = seed%2 == 0
	sec := time.Second
	e.lists = [][]limit.Quota{
		{{N: 20, W: sec}, {N: 100, W: 120 * sec}},
		{{N: 500, W: 10 * sec}, {N: 30000, W: 600 * sec}},
		{{N: 3000, W: 10 * sec}},
		{{N: 1, W: sec}, {N: 7, W: 3 * sec}},
		{{N: 12000, W: sec}},
		{{N: 50, W: 10 * sec}},
		{{N: 2_000_000, W: sec}},
	}
	e.app = int(seed/2) % 2
	return e
}

func (e *events) chance(percent int) bool { return e.r.IntN(100) < percent }

func (e *events) pause() int64 {
	switch k := e.r.IntN(1000); {
	case k < 300:
		return 0
	case k < 303 && !e.calm:
		return -e.r.Int64N(90_000) // the clock is set back
	case k < 900 || e.calm:
		return e.r.Int64N(60)
	case k < 980:
		return e.r.Int64N(2_000)
	case k < 996:
		return e.r.Int64N(130_000)
	}
	return e.r.Int64N(3_600_000)
}

func (e *events) replica() string { return "replica-" + strconv.Itoa(e.r.IntN(4)) }
func (e *events) budget() limit.Budget {
	return limit.Budget{Key: "0123456789abcdef", Host: fmt.Sprint("host", e.r.IntN(2))}
}
func (e *events) method() string { return fmt.Sprintf("/lol/m%d/v4/{id}", e.r.IntN(3)) }

func (e *events) scope() string {
	if e.chance(50) {
		return ""
	}
	return e.method()
}

// limits are mostly the same for a scope.
func (e *events) limits(scope string) []limit.Quota {
	if !e.calm && e.chance(3) {
		return e.lists[e.r.IntN(len(e.lists))]
	}
	list := e.lists[e.app]
	if scope != "" {
		list = e.lists[2+int(scope[len("/lol/m")]-'0')]
	}
	if e.chance(5) {
		list = append([]limit.Quota(nil), list...)
		list[0].N = 1 + e.r.IntN(2*list[0].N)
	}
	return list
}

func (e *events) ago(most time.Duration) time.Duration {
	return time.Duration(e.r.Int64N(int64(most)))
}

func (e *events) ask() *limit.Ask {
	a := &limit.Ask{
		Budget: e.budget(), Replica: e.replica(),
		Burst:   []float64{0, 0, 1, 0.25, 0.97, 1. / 3}[e.r.IntN(6)],
		Margin:  []time.Duration{150 * time.Millisecond, 5 * time.Millisecond, 2345678 * time.Nanosecond}[e.r.IntN(3)],
		Horizon: time.Duration(e.r.IntN(4)) * 33 * time.Millisecond,
		Assumed: e.lists[e.r.IntN(2)],
	}
	if e.chance(10) {
		a.Horizon = time.Second
	}
	used := map[string]bool{}
	for range e.r.IntN(4) {
		d := limit.Demand{Method: e.method()}
		if used[d.Method] {
			continue
		}
		used[d.Method] = true
		for class := range d.Want {
			switch {
			case e.chance(40):
				d.Want[class] = e.r.IntN(6)
			case e.chance(10):
				d.Want[class] = e.r.IntN(limit.MostWanted)
			}
		}
		a.Demands = append(a.Demands, d)
	}
	e.report(a)
	if !e.calm && e.chance(4) {
		a.Merge = e.merge()
	}
	for !e.calm && e.chance(10) {
		a.Facts = append(a.Facts, e.fact(e.scope()))
	}
	return a
}

// report adds what became of permits, and mostly what their answers taught.
func (e *events) report(a *limit.Ask) {
	kept := e.pending[:0]
	for _, h := range e.pending {
		if h.budget != a.Budget || e.chance(40) || len(a.Done) > 900 {
			kept = append(kept, h)
			continue
		}
		h.done.Ago = e.ago(200*time.Millisecond) - 50*time.Millisecond
		h.done.Unsent = e.chance(10)
		a.Done = append(a.Done, h.done)
		if e.chance(2) {
			a.Done = append(a.Done, h.done) // twice
		}
		if e.chance(1) {
			e.past = append(e.past, h.done)
		}
		if h.done.Unsent || len(a.Facts) > 150 || e.chance(50) {
			continue
		}
		for i, v := range [...]limit.View{h.app, h.method} { // in order: a seed is always the same story
			f := e.fact([...]string{"", h.done.Stub.Method}[i])
			f.Bases = nil
			for _, w := range v.Windows {
				f.Bases = append(f.Bases, limit.Basis{W: w.W, Base: w.Base, Used: w.Used})
			}
			if e.calm || e.chance(90) { // Riot's count shows our own alone
				f.Counts = nil
				for _, w := range v.Windows {
					f.Counts = append(f.Counts, limit.Quota{N: max(1, w.Used), W: w.W})
				}
			}
			a.Facts = append(a.Facts, f)
		}
	}
	e.pending = kept
	if len(e.past) > 0 && e.chance(5) {
		a.Done = append(a.Done, e.past[e.r.IntN(len(e.past))]) // stale
	}
}

func (e *events) fact(scope string) limit.Fact {
	f := limit.Fact{Method: scope, SentAgo: e.ago(300 * time.Millisecond), Passed: e.chance(95)}
	f.Counted = f.Passed || e.chance(50)
	if e.chance(3) {
		f.SentAgo = e.ago(200 * time.Second)
	}
	if e.chance(90) {
		f.Limits = e.limits(scope)
		for _, q := range f.Limits {
			if e.chance(95) {
				f.Counts = append(f.Counts, limit.Quota{N: 1 + e.r.IntN(q.N), W: q.W})
			}
			if e.chance(80) {
				f.Bases = append(f.Bases, limit.Basis{W: q.W, Base: e.r.IntN(q.N) - q.N/2, Used: e.r.IntN(q.N)})
			}
		}
	}
	if e.chance(1) {
		f.Stop = e.ago(5 * time.Second)
		f.Cause = limit.Kind(e.r.IntN(7))
	}
	if e.chance(1) {
		f.Level = e.r.IntN(3)
	}
	return f
}

func (e *events) took(a *limit.Ask, r limit.Reply) {
	for _, g := range r.Grants {
		if len(e.pending) < 3000 {
			e.pending = append(e.pending, held{a.Budget, limit.Done{Stub: g.Stub}, r.App, r.Views[g.Demand]})
		}
	}
}

// merge is mostly a new one, otherwise one of before again.
func (e *events) merge() *limit.Merge {
	if len(e.merges) > 0 && e.chance(40) {
		return e.merges[e.r.IntN(len(e.merges))].Aged(e.ago(time.Second))
	}
	m := limit.Merge{Process: 1<<52 - 1 - e.r.Int64N(3), Number: int64(len(e.merges) + 1), Scopes: e.accounts()}
	if e.chance(10) {
		m.Epoch = 12345 // of long ago
	}
	e.merges = append(e.merges, m)
	return &m
}

func (e *events) accounts() []limit.Account {
	var list []limit.Account
	for range e.r.IntN(3) {
		a := limit.Account{Method: e.scope()}
		for _, q := range e.limits(a.Method) {
			w := limit.SavedWindow{N: q.N, W: q.W}
			for range e.r.IntN(4) {
				c := limit.SavedCharge{Age: e.ago(q.W) - 100*time.Millisecond, N: e.r.IntN(1 + q.N/4)}
				if e.chance(70) {
					w.Own = append(w.Own, c)
				} else {
					w.Others = append(w.Others, c)
				}
			}
			a.Saved.Windows = append(a.Saved.Windows, w)
		}
		if e.chance(10) {
			a.Saved.Stop, a.Saved.Cause = e.ago(3*time.Second), limit.Method
		}
		list = append(list, a)
	}
	return list
}

func (e *events) health() []limit.KeyHealth {
	var list []limit.KeyHealth
	for i := range e.r.IntN(3) {
		list = append(list, limit.KeyHealth{Key: fmt.Sprint("key", i), Of: limit.KeyTrait(e.r.IntN(2)), Is: e.chance(30), For: e.ago(time.Minute)})
	}
	return list
}
