package sched

import (
	"testing"
	"time"

	"riftrelay/internal/limit"
	"riftrelay/internal/window"
)

// answered has one call go on a permit of the store's, which knows the limits,
// and answers it with a header.
func answered(t *testing.T, known, header string) *counter {
	t.Helper()
	c := newCounter(t, 1)
	c.call("/x", 1, -1)
	q := c.only()
	v := limit.View{Known: true}
	if known != "" {
		v.Windows = []limit.WindowView{{Quota: limit.Quota{N: 500, W: 10 * time.Second}}}
	}
	c.at++
	c.m.Replied(c.now, c.now, q, limit.Reply{
		Epoch: 1, App: v, Views: []limit.View{v}, Waits: []limit.Wait{{}},
		Grants: []limit.Grant{{Stub: limit.Stub{Method: "/x", At: c.at}}},
	})
	c.poll()
	c.m.Sent(c.now, c.let[0])
	c.wait(50 * time.Millisecond)
	c.m.Answer(c.now, c.let[0], window.Answer{Status: 200, AppLimit: header, MethodLimit: header})
	return c
}

// What became of calls waits for the next question, half of the shortest
// window at most: until then nothing is lost. What the store knows it isn't told.
func TestReportsWaitForCompany(t *testing.T) {
	c := answered(t, "500:10", "500:10")
	c.wait(flushLatest - time.Millisecond)
	if list := c.ask(); len(list) > 0 {
		t.Fatalf("reported at once: %+v", list[0].Ask)
	}
	c.call("/x", 1, -1)
	if q := c.only(); len(q.Done) != 1 || len(q.Facts) != 0 || len(q.Demands) != 1 {
		t.Errorf("the next question carries %d ends and %d facts, want 1 and 0: %+v", len(q.Done), len(q.Facts), q.Ask)
	}

	c = answered(t, "500:10", "500:10")
	c.wait(flushLatest)
	if q := c.only(); len(q.Done) != 1 || len(q.Demands) != 0 {
		t.Errorf("reported at last: %+v", q.Ask)
	}
}

// Limits that the store doesn't know are told at once.
func TestNewLimitsAreToldAtOnce(t *testing.T) {
	for _, c := range []struct{ known, header string }{{"", "500:10"}, {"500:10", "400:10"}, {"500:10", "500:10,1000:60"}} {
		if list := answered(t, c.known, c.header).ask(); len(list) != 1 || len(list[0].Facts) != 2 {
			t.Errorf("%q known, %q told: %d questions", c.known, c.header, len(list))
		}
	}
}

// Where calls are dense permits are asked for further ahead, by no more than a
// hundredth of the shortest window.
func TestHorizonOfDenseCalls(t *testing.T) {
	for _, c := range []struct {
		app, method string
		want        time.Duration
	}{
		{"500:10", "500:10", 20 * time.Millisecond},
		{"5000:10", "5000:10", 84 * time.Millisecond},
		{"5000:10,30000:600", "5000:10", 20 * time.Millisecond}, // a call every 20 ms
		{"500:1", "500:1", 30 * time.Millisecond},
		{"5000:10", "100:1", 30 * time.Millisecond},
	} {
		desk := newCounter(t, 1)
		desk.call("/x", 1, -1)
		desk.reply(desk.only(), 1)
		desk.m.Sent(desk.now, desk.let[0])
		desk.wait(50 * time.Millisecond)
		desk.m.Answer(desk.now, desk.let[0], window.Answer{Status: 200, AppLimit: c.app, MethodLimit: c.method})
		desk.call("/x", 1, -1)
		if q := desk.only(); q.Horizon != c.want {
			t.Errorf("app %s, method %s: %v, want %v", c.app, c.method, q.Horizon, c.want)
		}
	}
}

// Who is told that the store may know nothing any longer asks it, and says nothing
// with that: a fact, also an empty one, ends the wait for a call that went alone.
func TestHintIsAskedAbout(t *testing.T) {
	c := answered(t, "500:10", "500:10")
	c.wait(flushLatest)
	c.m.Replied(c.now, c.now, c.only(), limit.Reply{Epoch: 1, App: limit.View{Known: true}})
	c.m.Hint(c.now, -1, "", 0)
	q := c.only()
	if len(q.Facts)+len(q.Done)+len(q.Demands) > 0 {
		t.Errorf("asked %+v", q.Ask)
	}
	c.m.Hint(c.now, -1, "", 0) // with a question under way, too
	c.m.Replied(c.now, c.now, q, limit.Reply{Epoch: 1, App: limit.View{Known: true}})
	c.m.Replied(c.now, c.now, c.only(), limit.Reply{Epoch: 1, App: limit.View{Known: true}})
	c.wait(flushLatest)
	if list := c.ask(); len(list) > 0 {
		t.Errorf("asked again: %+v", list[0].Ask)
	}
}

// A call that takes longer than the margin is reported when that is over. If the
// margin turns out to have been too small meanwhile, it is reported again with the
// answer: Riot may have counted it later.
func TestLateCountIsReportedAgain(t *testing.T) {
	c := newCounter(t, 1)
	c.m.cfg.MaxMargin = time.Second
	c.call("/x", 1, -1)
	c.call("/x", 2, -1)
	q := c.only()
	v := limit.View{Known: true, Windows: []limit.WindowView{{Quota: limit.Quota{N: 500, W: 10 * time.Second}}}}
	c.at++
	g := limit.Grant{Stub: limit.Stub{Method: "/x", At: c.at}}
	c.m.Replied(c.now, c.now, q, limit.Reply{Epoch: 1, App: v, Views: []limit.View{v}, Waits: []limit.Wait{{}}, Grants: []limit.Grant{g, g}})
	c.poll()
	if len(c.let) != 2 {
		t.Fatalf("%d calls go, want 2", len(c.let))
	}
	for _, p := range c.let {
		c.m.Sent(c.now, p)
	}
	before := c.m.hosts[c.let[0].bucket.host.name].margin.J()
	c.wait(before)
	c.m.Overdue(c.now)
	reported := 0
	for c.now < limit.Instant(time.Hour) && reported < 2 {
		c.wait(flushAfter)
		for _, q := range c.ask() {
			reported += len(q.Done)
			c.m.Replied(c.now, c.now, q, limit.Reply{Epoch: 1, App: v})
		}
	}
	c.m.Answer(c.now, c.let[1], window.Answer{Status: 429, Type: "application", AppLimit: "500:10", MethodLimit: "500:10"})
	after := c.let[0].bucket.host.margin.J()
	if after <= before {
		t.Fatalf("the margin is %v after a 429, %v before", after, before)
	}
	c.m.Answer(c.now, c.let[0], window.Answer{Status: 200, AppLimit: "500:10", MethodLimit: "500:10"})
	again := 0
	c.wait(flushLatest)
	for _, q := range c.ask() {
		again += len(q.Done)
	}
	if again != 2 {
		t.Errorf("%d calls are reported again, want both", again)
	}
}
