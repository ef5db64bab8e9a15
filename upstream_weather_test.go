package riftrelay_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// outlook is one kind of bad weather.
type outlook struct {
	name  string
	fault fault                                   // of answers
	dial  func() (net.Conn, error)                // in place of dials; nil = none
	edge  riotsim.Fault                           // of the edge; zero = none
	ok    func(status int, err error) (fits bool) // what a call may get that was under way
}

func fails(_ int, err error) bool { return err != nil }

func answers(statuses ...int) func(int, error) bool {
	return func(status int, err error) bool { return err == nil && slices.Contains(statuses, status) }
}

func outlooks() []outlook {
	cut := func(body bool, end func(net.Conn) bool) fault {
		return func(c net.Conn, answer []byte) bool {
			_, _ = c.Write(upTo(answer, body))
			return end(c)
		}
	}
	closed := func(net.Conn) bool { return false }
	resets := func(c net.Conn, _ []byte) bool { return reset(c) }
	edges := []int{520, 521, 522, 523, 524, 525, 526, 527}
	var turn atomic.Int64
	noDial := func(err error) func() (net.Conn, error) {
		return func() (net.Conn, error) { return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	}
	return []outlook{
		{name: "reset before the head", fault: resets, ok: fails},
		{name: "closed before the head", fault: func(net.Conn, []byte) bool { return false }, ok: fails},
		{name: "reset in the head", fault: cut(false, reset), ok: fails},
		{name: "closed in the head", fault: cut(false, closed), ok: fails},
		{name: "reset in the body", fault: cut(true, reset), ok: fails},
		{name: "closed in the body", fault: cut(true, closed), ok: fails},
		{name: "half-open", fault: func(c net.Conn, _ []byte) bool { _, _ = c.Read(make([]byte, 1)); return false }, ok: fails},
		{name: "slow head", fault: func(c net.Conn, answer []byte) bool { return trickle(c, answer, 100*time.Millisecond) }, ok: fails},
		{name: "slow body", fault: func(c net.Conn, answer []byte) bool {
			begin := upTo(answer, true)
			_, _ = c.Write(begin)
			return trickle(c, answer[len(begin):], 100*time.Millisecond)
		}, ok: answers()},
		{name: "no HTTP", fault: instead("+OK POP3 ready\r\n\r\n"), ok: fails},
		{name: "garbled head", fault: instead("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\nX Y: z\r\n\r\n{}"), ok: fails},
		{name: "HTML 502", fault: instead(page(502)), ok: answers(502)},
		{name: "520 to 527", fault: func(c net.Conn, _ []byte) bool {
			return instead(page(edges[int(turn.Add(1))%len(edges)]))(c, nil)
		}, ok: answers(edges...)},
		{name: "5xx storm", fault: pass, edge: riotsim.Fault{Status: 503}, ok: answers(503)},
		{name: "no rate headers", fault: pass, edge: riotsim.Fault{Bare: true}, ok: answers()},
		{name: "nobody listens", fault: resets, dial: noDial(syscall.ECONNREFUSED), ok: fails},
		{name: "DNS", fault: resets, dial: noDial(&net.DNSError{Err: "no such host", Name: "euw1.api.riotgames.com", IsNotFound: true}), ok: fails},
	}
}

// TestUpstreamWeather has callers of GETs and POSTs call without a pause: in
// good weather, then in bad, then in good again. No interval is over a limit,
// no POST is lost or doubled, everyone is answered in time and sees what went
// wrong, and afterwards the limit is used in full. In virtual time that is known
// to be within a window; over sockets it depends on who else uses the machine.
func TestUpstreamWeather(t *testing.T) {
	for _, o := range outlooks() {
		t.Run("virtual/"+o.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipe := riotsim.Pipe()
				f := newForecast(t, t, o, 0, pipe, pipe.Dial)
				f.run()
				if f.again > time.Second+weatherTimeout+riftrelay.DefaultMargin {
					t.Errorf("the limit was used in full %v after the fault", f.again)
				}
			})
		})
	}
	together := 100
	if raceEnabled {
		together = 4
	}
	places := make(chan struct{}, together)
	var all sync.WaitGroup
	for _, o := range outlooks() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f := newForecast(t, named{t, o.name}, o, busyMachine, l, riftrelay.NewBase(riftrelay.BaseOptions{}).DialContext)
		all.Go(func() {
			places <- struct{}{}
			f.run()
			<-places
		})
	}
	all.Wait()
}

// named says of which case a complaint is.
type named struct {
	testing.TB
	name string
}

func (n named) Errorf(format string, args ...any) {
	n.Helper()
	n.TB.Errorf(n.name+": "+format, args...)
}

// forecast is callers in the weather of one outlook.
type forecast struct {
	outlook
	counting
	t       testing.TB
	edge    *riotsim.Edge
	weather *badWeather
	limiter *riftrelay.Limiter
	client  *http.Client

	bad    atomic.Bool
	undone atomic.Int64 // dials that failed
	posts  sync.Map     // bodies of those that were answered by the edge itself
	again  time.Duration

	mu      sync.Mutex
	badFrom time.Time // zero = not yet
	badTo   time.Time
}

const (
	weatherLimit   = 10 // calls a second, for each host
	weatherTimeout = 2 * time.Second
	weatherInTime  = 30 * time.Second // for each call, on a machine that others use too

	// busyMachine is J where the edge is in our process: how long its goroutines
	// wait for a processor is no delay that could be learned. Calls that are
	// answered pay nothing for it.
	busyMachine = 2 * time.Second
)

func newForecast(t *testing.T, tb testing.TB, o outlook, margin time.Duration, l net.Listener, dial func(context.Context, string, string) (net.Conn, error)) *forecast {
	t.Helper()
	edge, err := riotsim.New(riotsim.Config{
		Table: table, Body: riotsim.Tiny, Arrivals: -1, Requests: -1,
		AppLimits: []riotsim.Rule{{Limit: fmt.Sprintf("%d:1", weatherLimit)}}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &forecast{outlook: o, t: tb, edge: edge, weather: newBadWeather(t, edge, l)}
	f.limiter, err = riftrelay.New(riftrelay.Config{Table: table, Keys: []riftrelay.Key{{Value: oneKey}}, Hooks: hooksOf(f), Margin: margin})
	if err != nil {
		t.Fatal(err)
	}
	base := riftrelay.NewBase(riftrelay.BaseOptions{})
	t.Cleanup(func() { f.limiter.Close(); base.CloseIdleConnections() })
	base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if f.dial != nil && f.bad.Load() {
			f.undone.Add(1)
			return f.dial()
		}
		return dial(ctx, network, address)
	}
	upstream := "http://upstream"
	if _, tcp := l.(*net.TCPListener); tcp {
		upstream = "http://" + l.Addr().String()
	}
	f.client = &http.Client{Transport: &riftrelay.Transport{Limiter: f.limiter, Base: base, Upstream: upstream, Timeout: weatherTimeout}}
	return f
}

func (f *forecast) run() {
	ctx, stop := context.WithCancel(f.t.Context()) // not a deadline: calls that couldn't meet it would be refused
	var callers sync.WaitGroup
	for range 10 {
		callers.Go(func() {
			for ctx.Err() == nil {
				f.call(ctx, http.MethodGet, byPUUID, "")
			}
		})
	}
	for i := range 6 {
		callers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				f.call(ctx, http.MethodPost, tournamentCodes, fmt.Sprintf(`{"by":%d,"n":%d}`, i, n))
			}
		})
	}
	f.await("good weather", func() bool { return f.edge.Report().Accepted >= weatherLimit })
	f.turn(true)
	f.await("the fault", func() bool { return f.weather.strikes.Load()+f.undone.Load() >= weatherLimit })
	f.turn(false)
	end := time.Now()
	f.await("full use", func() bool { return f.used(time.Now().Add(-time.Second)) })
	f.again = time.Since(end)
	stop()
	callers.Wait()
	f.judge()
}

// turn lets the fault begin or end.
func (f *forecast) turn(bad bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad.Store(bad)
	if !bad {
		f.weather.fault.Store(nil)
		f.edge.ClearFaults()
		f.badTo = time.Now()
		return
	}
	f.badFrom = time.Now()
	if f.outlook.edge.Status != 0 || f.outlook.edge.Bare {
		if err := f.edge.Inject(f.outlook.edge); err != nil {
			f.t.Error(err)
		}
	}
	f.weather.fault.Store(&f.fault)
}

// met reports whether a call was under way while the fault was.
func (f *forecast) met(begin, end time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.badFrom.IsZero() && !end.Before(f.badFrom) && (f.badTo.IsZero() || !begin.After(f.badTo))
}

func (f *forecast) await(what string, ok func() bool) {
	for end := time.Now().Add(weatherInTime); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Errorf("waited in vain for %s", what)
			return
		}
	}
}

// used reports whether both hosts were called as often as they may be within
// the second from then.
func (f *forecast) used(from time.Time) bool {
	calls := map[string]int{}
	for _, a := range slices.Backward(f.edge.Arrivals()) {
		if a.Time.Before(from) {
			break
		}
		if a.Accepted && !a.Time.Before(f.badTo) {
			calls[a.Host]++
		}
	}
	return calls["euw1"] >= weatherLimit*9/10 && calls["americas"] >= weatherLimit*9/10
}

// call makes one call. Its answer must be one of good weather, or, if it was
// under way in the bad, fit that.
func (f *forecast) call(ctx context.Context, verb, url, body string) {
	begin := time.Now()
	resp, text, err := call(ctx, f.client, verb, url, body)
	if ctx.Err() != nil {
		return
	}
	end := time.Now()
	if took := end.Sub(begin); took > weatherInTime {
		f.t.Errorf("%s answered after %v", verb, took)
	}
	status := 0
	if err == nil {
		status = resp.StatusCode
	}
	switch {
	case status == http.StatusOK:
		if body != "" {
			f.posts.Store(body, true)
		}
	case !f.met(begin, end) || !f.ok(status, err):
		f.t.Errorf("%s: %d %q, %v", verb, status, text, err)
	case err != nil:
		time.Sleep(50 * time.Millisecond) // a dial that fails costs no slot, and so no time
	}
}

func (f *forecast) judge() {
	r := f.edge.Report()
	if r.Violations > 0 {
		f.t.Errorf("%d own 429s", r.Violations)
	}
	for _, iv := range f.edge.WorstIntervals() {
		if iv.Over() {
			f.t.Errorf("over the limit: %+v", iv)
		}
	}
	if admitted := f.admissions.Load(); int64(r.Arrived) > admitted {
		f.t.Errorf("%d arrived on %d admissions", r.Arrived, admitted)
	}
	if n := f.limiter.Snapshot().InFlight; n != 0 {
		f.t.Errorf("%d in flight", n)
	}
	came := mustBeOnce(f.t, f.edge)
	f.posts.Range(func(body, _ any) bool {
		if !came[body.(string)] {
			f.t.Errorf("POST %s was answered and never came", body)
		}
		return true
	})
}
