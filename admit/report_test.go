package admit

import (
	"testing"
	"time"

	"riftrelay/limit"
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
	c.m.Answer(c.now, c.let[0], limit.Answer{Status: 200, AppLimit: header, MethodLimit: header})
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
