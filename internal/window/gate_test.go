package window

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
)

func TestStopsAreNeverSummed(t *testing.T) {
	var g Gate
	g.stop(ms[limit.Instant](3000), limit.Service)
	g.stop(ms[limit.Instant](2000), limit.Method) // shorter: changes nothing
	if d, kind := g.Cooldown(ms[limit.Instant](1000)); d != 2*time.Second || kind != limit.Service {
		t.Errorf("cool-down %v for %v, want 2s for service", d, kind)
	}
	g.stop(ms[limit.Instant](5000), limit.Method)
	if d, kind := g.Cooldown(ms[limit.Instant](1000)); d != 4*time.Second || kind != limit.Method {
		t.Errorf("cool-down %v for %v, want 4s for method", d, kind)
	}
	if d, kind := g.Cooldown(ms[limit.Instant](5000)); d != 0 || kind != limit.NotLimited {
		t.Errorf("cool-down %v for %v after its end", d, kind)
	}
}

func TestBackoff(t *testing.T) {
	for n, want := range []time.Duration{0, 1, 2, 4, 8, 16, 30, 30, 30} {
		if n == 0 {
			continue
		}
		want *= time.Second
		if got := backoff(n, 0); got != want {
			t.Errorf("backoff(%d) = %v, want %v", n, got, want)
		}
		if got := backoff(n, 1); got != min(30*time.Second, want*5/4) {
			t.Errorf("backoff(%d) = %v with the most jitter, want a quarter more than %v, at most 30s", n, got, want)
		}
	}
	if got := backoff(1<<40, 1); got != 30*time.Second {
		t.Errorf("backoff after a long time = %v, want 30s", got)
	}
}

// TestStrikes: those of calls under way together are one; only the success of
// a call sent after the last one ends them.
func TestStrikes(t *testing.T) {
	untyped, good := Answer{Status: 429}, Answer{Status: 200, AppLimit: "100:10", MethodLimit: "100:10"}
	for _, c := range []struct {
		name  string
		steps []Answer // to calls sent one after the other, each when the one before is answered
		want  time.Duration
	}{
		{"first", []Answer{untyped}, time.Second},
		{"three in a row", []Answer{untyped, untyped, untyped}, 4 * time.Second},
		{"a success between", []Answer{untyped, untyped, good, untyped}, time.Second},
		{"404 is a success", []Answer{untyped, {Status: 404}, untyped}, time.Second},
		{"errors of the service between", []Answer{untyped, {Status: 503}, untyped}, 2 * time.Second},
		{"errors of the gateway between", []Answer{untyped, {Status: 403}, {Status: 401}, {Status: 502}, untyped}, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rigWith("100:10", "100:10")
			now := ms[limit.Instant](1000)
			var last Lesson
			for _, a := range c.steps {
				now = max(now.Add(time.Second), r.service.until)
				h := r.send(now)
				now = now.Add(50 * time.Millisecond)
				last = r.learn(now, h, a)
			}
			if got := last.Until.Sub(now); got != c.want {
				t.Errorf("the last stop lasts %v, want %v", got, c.want)
			}
		})
	}

	t.Run("under way together", func(t *testing.T) {
		r := rigWith("100:10", "100:10")
		var calls []*Hold
		for i := range 20 {
			calls = append(calls, r.send(limit.Instant(1000+i)))
		}
		for i, h := range calls[:10] {
			if got := r.learn(limit.Instant(5000+i), h, untyped).Until; got != limit.Instant(5000+i).Add(time.Second) {
				t.Fatalf("stop of call %d until %v, want a second", i, time.Duration(got))
			}
		}
		for i, h := range calls[10:] { // successes of before prove nothing
			r.learn(limit.Instant(6000+i), h, good)
		}
		if r.service.strikes != 1 || !r.service.solo {
			t.Errorf("%d strikes, solo %v; want 1 and the next call alone", r.service.strikes, r.service.solo)
		}
	})
}

func TestOneGoesAloneAfterAStop(t *testing.T) {
	r := rigWith("100:10", "100:10")
	first := r.send(1)
	stop := r.learn(ms[limit.Instant](50), first, Answer{Status: 429, Type: "service", RetryAfter: []string{"1"}}).Until
	if at := r.next(ms[limit.Instant](60)); at != stop {
		t.Fatalf("next at %v, want the end of the stop, %v", time.Duration(at), time.Duration(stop))
	}
	h := r.send(stop)
	if at := r.next(stop); at != stop.Add(soloPatience) {
		t.Errorf("next at %v, want after the patience", time.Duration(at))
	}
	r.learn(stop+1, h, Answer{Status: 200})
	for i := range 5 {
		if at := r.next(stop + 2); at > stop+2 {
			t.Fatalf("call %d after the success has to wait until %v", i, time.Duration(at))
		}
		r.send(stop + 2)
	}
}

func TestSolo(t *testing.T) {
	g := Gate{solo: true}
	var a, b Hold
	if at := g.Next(5); at != 5 || !g.enter(5, &a) {
		t.Fatalf("the first can go at %v only", at)
	}
	after := limit.Instant(5).Add(soloPatience)
	if at := g.Next(6); at != after {
		t.Errorf("the second can go at %v, want %v", at, after)
	}
	g.enter(after, &b) // a is too slow: b's turn now
	g.leave(&a)
	if at := g.Next(after + 1); at != after.Add(soloPatience) {
		t.Errorf("the end of another call let the next one go at %v", at)
	}
	g.leave(&b)
	if at := g.Next(after + 1); at != after+1 {
		t.Errorf("the end of the one alone lets the next go at %v only", at)
	}
}

// TestUnknownScopeStaysSolo: a success ends a stop, it doesn't make limits
// known.
func TestUnknownScopeStaysSolo(t *testing.T) {
	r := newRig()
	h := r.send(0)
	stop := r.learn(ms[limit.Instant](50), h, Answer{Status: 429, Type: "method", RetryAfter: []string{"1"}}).Until
	h = r.send(stop)
	r.learn(stop+1, h, Answer{Status: 200})
	r.send(stop + 2)
	if at := r.next(stop + 2); at <= stop+2 {
		t.Error("two calls at once of a scope whose limits are unknown")
	}
}

// TestNobodyWaitsForEver: without headers calls go one by one, and after three
// answers freely.
func TestNobodyWaitsForEver(t *testing.T) {
	r := newRig()
	now := limit.Instant(0)
	for i := range limit.SilentAnswers {
		if at := r.next(now); at > now {
			t.Fatalf("call %d has to wait until %v", i, at)
		}
		h := r.send(now)
		if r.method.Known() || r.next(now) <= now {
			t.Fatalf("call %d doesn't go alone", i)
		}
		now = now.Add(time.Second)
		r.learn(now, h, Answer{Status: 200})
	}
	r.send(now)
	if at := r.next(now); at > now || !r.method.Known() {
		t.Errorf("after %d answers without limits calls still go alone", limit.SilentAnswers)
	}
}

// TestAbandonedCallOfUnknownScope: what is still under way when its caller gave
// up is counted before the next one is.
func TestAbandonedCallOfUnknownScope(t *testing.T) {
	r := newRig()
	h := r.send(ms[limit.Instant](10))
	h.Abandon()
	if at := r.next(ms[limit.Instant](20)); at != ms[limit.Instant](10).Add(j150) {
		t.Errorf("the next goes at %v, want J after the first", time.Duration(at))
	}
	r = newRig()
	r.take(ms[limit.Instant](10)).Refund()
	if at := r.next(ms[limit.Instant](20)); at != ms[limit.Instant](20) {
		t.Errorf("the next waits until %v for one that was never sent", time.Duration(at))
	}
}

// TestStrikeOutlastsItsStop: a call admitted before a stop that is over by now
// isn't sent, until a success shows that calls pass again.
func TestStrikeOutlastsItsStop(t *testing.T) {
	var g Gate
	g.strike(2*second, second)
	g.stop(3*second, limit.Method)
	if !g.stoppedSince(second, 4*second) {
		t.Error("a call admitted before the 429 may be sent after its stop")
	}
	if g.stoppedSince(3*second, 4*second) {
		t.Error("a call admitted after the stop may not be sent")
	}
	if g.passed(3 * second); g.stoppedSince(second, 4*second) {
		t.Error("a success doesn't end it")
	}
}
