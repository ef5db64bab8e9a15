package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/route"
)

var (
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	euw1   = route.Route{Host: "euw1", Method: method("/lol/status/v4/platform-data")}
	euw1ID = name{"main", "euw1", "/lol/status/v4/platform-data"}
)

func method(template string) *route.Method {
	for _, m := range route.Default().Methods() {
		if m.Template == template {
			return m
		}
	}
	panic("BUG: " + template)
}

// watching is a Dashboard over a state that the test changes.
func watching() (*Dashboard, *riftrelay.Snapshot) {
	s := &riftrelay.Snapshot{
		Keys: []riftrelay.KeyState{{Name: "main", State: riftrelay.KeyUsable, Usable: true}},
		Scopes: []riftrelay.ScopeState{
			{Key: "main", Host: "euw1", Known: true, Windows: []riftrelay.WindowState{{Limit: 20, Window: time.Second, Used: 5}, {Limit: 100, Window: 2 * time.Minute, Used: 40, Others: 10, Peers: 5, InFlight: 2, ResetIn: 80 * time.Second}}},
			{Key: "main", Host: "euw1", Method: euw1ID.method, Known: true, Windows: []riftrelay.WindowState{{Limit: 1000, Window: time.Minute, Used: 7}}},
			{Key: "spare", Host: "euw1", Method: euw1ID.method},
		},
	}
	d := New(Options{Version: "v1"})
	d.Watch(func() riftrelay.Snapshot { return *s })
	return d, s
}

func (d *Dashboard) goes(n int, waited time.Duration, status int, kind riftrelay.LimitKind) {
	for range n {
		d.Admission(context.Background(), riftrelay.AdmissionEvent{Route: euw1, Key: "main", Try: 1, Waited: waited, Outcome: riftrelay.OutcomeAdmitted})
		d.Answer(context.Background(), riftrelay.AnswerEvent{Route: euw1, Key: "main", Try: 1, Status: status, Kind: kind, Own: (kind == riftrelay.LimitApplication || kind == riftrelay.LimitMethod), Retry: status == 429})
	}
}

func TestASecondIsCounted(t *testing.T) {
	d, s := watching()
	d.sample(start)
	s.Queued, s.InFlight = 3, 2
	s.Queues = []riftrelay.QueueState{{Host: "euw1", Method: euw1ID.method, Depth: 3, Oldest: 4 * time.Second}}
	d.goes(3, 100*time.Millisecond, 200, "")
	d.goes(1, 2*time.Second, 429, riftrelay.LimitMethod)
	d.goes(1, 0, 429, riftrelay.LimitService)
	d.Admission(context.Background(), riftrelay.AdmissionEvent{Route: euw1, Key: "main", Try: 2, Outcome: riftrelay.OutcomeAdmitted})
	d.Admission(context.Background(), riftrelay.AdmissionEvent{Route: euw1, Try: 1, Reason: riftrelay.ReasonDeadline, Outcome: riftrelay.OutcomeRejected})
	d.Admission(context.Background(), riftrelay.AdmissionEvent{Route: euw1, Try: 1, Reason: riftrelay.ReasonQueueFull, Outcome: riftrelay.OutcomeRejected})
	d.Admission(context.Background(), riftrelay.AdmissionEvent{Route: euw1, Try: 1, Outcome: riftrelay.OutcomeCanceled})
	d.sample(start.Add(2 * time.Second))

	got := d.history.points[1]
	p50, p95 := got.P50, got.P95
	got.P50, got.P95 = 0, 0
	want := Point{
		At: start.Unix() + 2, Over: 2, Calls: 8, Sent: 6, Ceiling: 0.83, Queued: 3, Oldest: 4000, InFlight: 2,
		Limited: [4]int{0, 1, 1, 0}, Ours: 1, Retries: 2, Refused: 2, Failed: 1,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if math.Abs(p50-100) > 10 || math.Abs(p95-2000) > 200 {
		t.Errorf("waits: half %v, 95 %% %v; want 100 and 2000 to a tenth", p50, p95)
	}
	r := d.rows[euw1ID]
	if r.last != 429 || r.kind != riftrelay.LimitService {
		t.Errorf("last answer %d %v", r.last, r.kind)
	}
	if app := d.rows[name{"main", "euw1", ""}]; app.rate != r.rate || app.rate < 0.5 || app.rate > 3 {
		t.Errorf("rate of the application %v, of its only method %v", app.rate, r.rate)
	}
}

// What viewers are told, to the letter: web/model.js reads it.
func TestRowsOnTheWire(t *testing.T) {
	d, s := watching()
	s.Scopes[1].Cooldown, s.Scopes[1].Cause, s.Scopes[1].Halved = 1500*time.Millisecond, riftrelay.LimitMethod, 1
	s.Scopes[1].Budgets = []riftrelay.BudgetState{{Name: "a<b", Windows: []riftrelay.WindowState{{Limit: 300, Window: time.Minute}}}}
	s.Queues = []riftrelay.QueueState{{
		Host: "euw1", Method: euw1ID.method, Priority: riftrelay.High, Depth: 2, Oldest: time.Second, Start: 180 * time.Millisecond,
		Why: riftrelay.Wait{Kind: riftrelay.WaitWindow, Key: "main", Scope: "method", Limit: 1000, Used: 1000, Window: time.Minute, Until: 180 * time.Millisecond},
	}}
	d.sample(start)
	hello, _, _ := d.join("build")
	var got struct {
		Rows []json.RawMessage
	}
	_, data, _ := strings.Cut(string(hello), "data: ")
	if err := json.Unmarshal([]byte(data), &got); err != nil {
		t.Fatalf("%v in %s", err, hello)
	}
	want := []string{
		`{"id":1,"key":"main","host":"euw1","method":"","known":1,"w":[["",20,1000,5,0,0,0,0],["",100,120000,40,10,5,2,80000]]}`,
		`{"id":2,"key":"main","host":"euw1","method":"/lol/status/v4/platform-data","known":1,"halved":1,"cool":1500,"cause":"method",` +
			`"q":[["high","",2,1000,180,"main","window","method window 60 s is full (1000/1000), next slot in 180 ms"]],` +
			`"w":[["",1000,60000,7,0,0,0,0],["budget:a\u003cb",300,60000,0,0,0,0,0]]}`,
		`{"id":3,"key":"spare","host":"euw1","method":"/lol/status/v4/platform-data","w":[]}`,
	}
	for i, w := range want {
		if i >= len(got.Rows) || string(got.Rows[i]) != w {
			t.Errorf("row %d:\n%s\nwant\n%s", i, got.Rows[i], w)
		}
	}

	// Then only what has changed, without the names.
	s.Scopes[2].Known = true
	f := d.tail
	d.sample(start.Add(time.Second))
	if want := `"gone":[],"rows":[{"id":3,"known":1,"w":[]}]`; !strings.Contains(string(f.text), want) {
		t.Errorf("tick %s\nwant %s", f.text, want)
	}
	s.Scopes = s.Scopes[:2]
	f = d.tail
	d.sample(start.Add(2 * time.Second))
	if want := `"gone":[3],"rows":[]`; !strings.Contains(string(f.text), want) {
		t.Errorf("tick %s\nwant %s", f.text, want)
	}
}

// A queue for which there is no scope yet, and rows that were called and are
// forgotten.
func TestRowsComeAndGo(t *testing.T) {
	d, s := watching()
	s.Scopes = nil
	s.Queues = []riftrelay.QueueState{{Host: "kr", Method: "/lol/x", Depth: 1}}
	d.goes(1, 0, 200, "")
	d.sample(start)
	if r := d.rows[name{"", "kr", "/lol/x"}]; r == nil || len(r.queues) != 1 {
		t.Errorf("the queue's row: %+v", r)
	}
	s.Queues = nil
	d.sample(start.Add(idleFor - time.Second))
	if len(d.rows) != 2 || d.rows[euw1ID] == nil {
		t.Errorf("%d rows, want the two that were called", len(d.rows))
	}
	d.sample(start.Add(idleFor))
	if len(d.rows) != 0 || len(d.order) != 0 {
		t.Errorf("%d rows after ten idle minutes", len(d.rows))
	}
}

func TestThePastIsARing(t *testing.T) {
	var h history
	for i := range depth + 5 {
		h.add(Point{At: int64(i)})
	}
	var points [][]float64
	if err := json.Unmarshal(h.appendJSON(nil), &points); err != nil || len(points) != depth || points[0][0] != 5 || points[depth-1][0] != depth+4 {
		t.Errorf("%d points, the first %v, the last %v: %v", len(points), points[0], points[len(points)-1], err)
	}

	read := func(p *past) (lists [2][]int) {
		if err := json.Unmarshal(p.appendJSON(nil), &lists); err != nil {
			t.Fatal(err)
		}
		return lists
	}
	var p past
	p.add(1, 100, 0, 0)
	if p.ring != nil {
		t.Error("an idle window takes memory")
	}
	p.add(2, 100, 50, 10)
	p.add(5, 100, 100, 0) // 3 and 4 were left out
	if got := read(&p); !slices.Equal(got[0], []int{500, 1000, 1000, 1000}) || !slices.Equal(got[1], []int{100, 0, 0, 0}) {
		t.Errorf("past %v", got)
	}
	for i := 6; i < 5+depth; i++ {
		p.add(i, 100, 0, 0)
	}
	if got := read(&p); len(got[0]) != depth || got[0][0] != 1000 || got[0][1] != 0 {
		t.Errorf("%d seconds, the first %d", len(got[0]), got[0][0])
	}
	p.add(6+depth, 100, 0, 0)
	if p.ring != nil {
		t.Error("a window that was idle for ten minutes takes memory")
	}
}

func TestWaitsAreOfLate(t *testing.T) {
	d, _ := watching()
	d.goes(10, 10*time.Second, 200, "")
	d.sample(start)
	r := d.rows[euw1ID]
	wait := func() float64 { return r.waits[0].percentile(0.5, &r.waits[1]) }
	d.sample(start.Add(waitsOver - time.Second))
	if got := wait(); math.Abs(got-10_000) > 1000 {
		t.Errorf("half a minute later the wait is %v ms, want 10000", got)
	}
	d.sample(start.Add(2 * waitsOver))
	d.sample(start.Add(3 * waitsOver))
	if got := wait(); got != unknown {
		t.Errorf("a minute and a half later the wait is %v ms, want none", got)
	}
}

func TestPercentiles(t *testing.T) {
	var w waits
	if got := w.percentile(0.5, nil); got != unknown {
		t.Errorf("of nothing: %v", got)
	}
	for _, d := range []time.Duration{0, 999 * time.Microsecond, 30 * time.Millisecond, time.Hour} {
		w.count(d)
	}
	for share, want := range map[float64]float64{0.5: 0, 0.75: 30, 1: 820_000} {
		if got := w.percentile(share, nil); math.Abs(got-want) > want/10 {
			t.Errorf("%v: %v ms, want %v to a tenth", share, got, want)
		}
	}
}

// Hooks are in the way of calls: they count without an allocation, and what
// they count is bounded whatever hosts callers name.
func TestHooksAreCheapAndBounded(t *testing.T) {
	d, _ := watching()
	d.goes(1, 0, 200, "")
	if n := testing.AllocsPerRun(100, func() { d.goes(1, time.Millisecond, 200, "") }); n != 0 && !raced {
		t.Errorf("%v allocations for each call", n)
	}
	for i := range mostPlaces + 100 {
		d.Admission(context.Background(), riftrelay.AdmissionEvent{Route: route.Route{Host: fmt.Sprint(i), Method: euw1.Method}, Try: 1, Outcome: riftrelay.OutcomeAdmitted})
	}
	s := d.tally.take()
	if len(s.places) != mostPlaces || s.anywhere.sent != 101 {
		t.Errorf("%d places and %d calls elsewhere", len(s.places), s.anywhere.sent)
	}
}

// Nobody looks: a snapshot of many scopes, which takes the limiter's lock for a
// while, is taken now and then only.
func TestManyScopesAreSampledRarelyForNobody(t *testing.T) {
	d, s := watching()
	d.sample(start)
	if !d.due(start.Add(time.Second)) {
		t.Error("few scopes are not sampled each second")
	}
	for i := range manyScopes {
		s.Scopes = append(s.Scopes, riftrelay.ScopeState{Key: "main", Host: fmt.Sprintf("z%04d", i)})
	}
	d.sample(start.Add(time.Second))
	if d.due(start.Add(4*time.Second)) || !d.due(start.Add(6*time.Second)) {
		t.Error("many scopes are to be sampled every 5 seconds")
	}
	d.join("build")
	if !d.due(start.Add(2 * time.Second)) {
		t.Error("somebody looks, and many scopes are not sampled each second")
	}
}

func TestEveryChangeHasItsSentence(t *testing.T) {
	at := riftrelay.ChangeEvent{Key: "main", Scope: "method", Host: "euw1", Method: "/m", Window: 2 * time.Minute, Old: 100, New: 50, Cause: riftrelay.LimitMethod, Status: 401, At: start, Until: start.Add(3 * time.Second), Err: context.DeadlineExceeded}
	for kind, want := range map[riftrelay.ChangeKind]string{
		riftrelay.ChangeLimitLearned:   "info: Riot told the method's limit: 50:120",
		riftrelay.ChangeLimitChanged:   "info: Riot changed the method's limit from 100:120 to 50:120",
		riftrelay.ChangeLimitReached:   "info: the method's limit 50:120 is reached, calls wait for it",
		riftrelay.ChangeCooldownBegan:  "warn: the method is stopped for 3 s after a 429 (method)",
		riftrelay.ChangeCooldownEnded:  "info: the stop of the method is over",
		riftrelay.ChangeLimitsHalved:   "bad: too many 429s of our own making: the method's limits are used by half",
		riftrelay.ChangeLimitsRaised:   "info: the method's limits are raised again",
		riftrelay.ChangeKeySuspended:   "bad: Riot doesn't know the key (401): it is suspended, only probes go on it",
		riftrelay.ChangeKeyReturned:    "info: the key is good again",
		riftrelay.ChangeKeyDisabled:    "warn: the key is disabled",
		riftrelay.ChangeKeyEnabled:     "info: the key is enabled",
		riftrelay.ChangeStoreAway:      "bad: the store can't be reached: context deadline exceeded",
		riftrelay.ChangeStoreElsewhere: "warn: other relays use another part of the store, and share no limits with this one: context deadline exceeded",
		riftrelay.ChangeStoreBack:      "info: the store is back",
	} {
		at.Kind = kind
		e := eventOf(at)
		if got := e.Level + ": " + e.Text; got != want || e.Key != "main" || e.Host != "euw1" || e.At != start.UnixMilli() {
			t.Errorf("%s: %+v, want %q", kind, e, want)
		}
	}
	at.Lost = 3
	if e := eventOf(at); !strings.Contains(e.Text, "3 changes") {
		t.Errorf("lost changes: %q", e.Text)
	}
}
