package daemon

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/riotsim"
)

var update = flag.Bool("update", false, "write testdata/view*.golden anew")

const (
	matchTemplate  = "/lol/match/v5/matches/{matchId}"
	ladderTemplate = "/lol/league/v4/challengerleagues/by-queue/{queue}"
)

// busy is a snapshot with all there is to see: two hosts, others on the key, a
// stop, queues, a method whose limit isn't known and one without a short name.
func busy() riftrelay.Snapshot {
	sec := time.Second
	return riftrelay.Snapshot{
		Queued: 17, InFlight: 3,
		Scopes: []riftrelay.ScopeState{
			{Key: "demo", Host: "euw1", Known: true, Windows: []riftrelay.WindowState{
				{Limit: 20, Window: sec, Used: 13, InFlight: 2}, {Limit: 100, Window: 120 * sec, Used: 100, Others: 30},
			}},
			{Key: "demo", Host: "euw1", Method: ladderTemplate, Known: true, Windows: []riftrelay.WindowState{
				{Limit: 30, Window: 10 * sec, Used: 30}, {Limit: 500, Window: 600 * sec, Used: 31},
			}},
			{Key: "demo", Host: "euw1", Method: "/lol/platform/v3/champion-rotations", Known: true, Windows: []riftrelay.WindowState{{Limit: 20000, Window: 10 * sec, Used: 1}}},
			{Key: "demo", Host: "europe", Cooldown: 2300 * time.Millisecond, Windows: []riftrelay.WindowState{{Limit: 20, Window: sec}, {Limit: 100, Window: 120 * sec}}},
			{Key: "demo", Host: "europe", Method: matchTemplate},
		},
		Queues: []riftrelay.QueueState{
			{Host: "euw1", Method: ladderTemplate, Depth: 12, Oldest: 3400 * time.Millisecond},
			{Host: "euw1", Method: ladderTemplate, Priority: riftrelay.High, Depth: 2, Oldest: 100 * time.Millisecond},
			{Host: "europe", Method: matchTemplate, Depth: 3, Oldest: 125 * sec},
		},
	}
}

func busyFrame() frame {
	return frame{
		Elapsed: 72 * time.Second, For: 2 * time.Minute, Limit: "20:1,100:120", Pacing: "spread",
		Sent: 1234, Accepted: 1200, TooMany: 0, SentRate: 41.26, AcceptedRate: 40, Queued: 17, InFlight: 3,
		Normal: waits{N: 9, P50: 1600 * time.Millisecond, P95: 12 * time.Second},
		Hosts:  hostsOf(busy(), shortNames),
		Page:   "http://127.0.0.1:8986/",
	}
}

func busySummary() summary {
	return summary{
		counts: counts{Sent: 1240, Accepted: 1200, TooMany: 0, Refused: map[string]int{"deadline": 9, "timeout": 9, "shutting_down": 22}},
		edge: riotsim.Report{Totals: riotsim.Totals{Arrived: 1200, Accepted: 1200}, Scopes: []riotsim.ScopeReport{
			{Kind: riotsim.Method, Host: "na1", Windows: []riotsim.WindowReport{{Limit: riotsim.Limit{N: 1, Per: time.Second}}}},
			{Kind: riotsim.Application, Host: "na1", Windows: []riotsim.WindowReport{
				{Limit: riotsim.Limit{N: 20, Per: time.Second}, Accepted: 290, Even: 600}, {Limit: riotsim.Limit{N: 100, Per: 10 * time.Second}, Accepted: 290, Even: 300},
			}},
			{Kind: riotsim.Application, Host: "euw1", Windows: []riotsim.WindowReport{
				{Limit: riotsim.Limit{N: 20, Per: time.Second}, Accepted: 310, Even: 600}, {Limit: riotsim.Limit{N: 100, Per: 10 * time.Second}, Accepted: 310, Even: 300},
			}},
		}},
		took: 30 * time.Second, options: config.DemoOptions{RateLimit: "20:1,100:10"},
	}
}

func TestViewIsAsAgreed(t *testing.T) {
	f, s := busyFrame(), busySummary()
	faulty, guilty := f, s
	faulty.TooMany = 2
	guilty.edge.Rejected.Application, guilty.edge.Violations = 3, 2
	for name, lines := range map[string][]string{
		"view":         f.lines(80, 24, false),
		"view-wide":    f.lines(120, 40, false),
		"view-low":     f.lines(80, 10, false),
		"view-colour":  faulty.lines(80, 24, true),
		"view-plain":   {f.plain()},
		"view-summary": slices.Concat(s.lines(80, false), s.lines(66, false), guilty.lines(0, true)),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".golden")
			got := []byte(strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "\x1b", "␛"))
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s (-update writes it anew):\n%swant:\n%s", file, got, want)
			}
		})
	}
}

// A line that is too long would wrap, one too many would scroll: either leaves
// rubbish behind.
func TestViewFitsTheTerminal(t *testing.T) {
	for w := 1; w < 200; w += 9 {
		for h := 1; h < 50; h += 2 {
			lines := busyFrame().lines(w, h, true)
			if len(lines) > max(h-1, 0) {
				t.Fatalf("%d lines in a terminal of %d × %d", len(lines), w, h)
			}
			for _, l := range lines {
				if n := visible(l); n >= max(w, 21) {
					t.Fatalf("%d cells in a terminal of %d × %d: %q", n, w, h, l)
				}
			}
		}
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func visible(s string) int { return utf8.RuneCountInString(escapes.ReplaceAllString(s, "")) }

func TestBar(t *testing.T) {
	for _, tt := range []struct {
		used, others int
		want         string
	}{
		{0, 0, "········"},
		{1, 0, "▏·······"},
		{500, 0, "████····"},
		{560, 0, "████▍···"},
		{999, 0, "███████▉"},
		{1000, 0, "████████"},
		{1300, 0, "████████"}, // a limit was lowered
		{500, 250, "██▒▒····"},
		{1000, 1000, "▒▒▒▒▒▒▒▒"},
	} {
		if got := bar(riftrelay.WindowState{Limit: 1000, Used: tt.used, Others: tt.others}, 8, cyan, false); got != tt.want {
			t.Errorf("%d used, %d by others: %q, want %q", tt.used, tt.others, got, tt.want)
		}
	}
}

func TestPainter(t *testing.T) {
	var b strings.Builder
	w, h := 80, 24
	p := painter{out: screen{w: &b, isTTY: true, size: func() (int, int) { return w, h }}}
	step := func(do func() error) string {
		b.Reset()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := step(p.end); got != "" {
		t.Errorf("the end of nothing wrote %q", got)
	}
	if got := step(func() error { return p.paint([]string{"one", "two", "three"}) }); !strings.Contains(got, "\x1b[?25l") || !strings.Contains(got, "one\x1b[K\ntwo\x1b[K\nthree\x1b[K") {
		t.Errorf("first picture: %q", got)
	}
	if got := step(func() error { return p.paint([]string{"four"}) }); !strings.Contains(got, "\r\x1b[2Afour\x1b[K\x1b[J") || strings.Contains(got, "25l") {
		t.Errorf("second picture: %q", got)
	}
	w = 100
	if got := step(func() error { return p.paint([]string{"five"}) }); !strings.Contains(got, "\x1b[H\x1b[Jfive") {
		t.Errorf("after a resize: %q", got)
	}
	if got := step(p.end); !strings.HasSuffix(got, "\x1b[?7h\x1b[?25h") {
		t.Errorf("the end doesn't give the cursor back: %q", got)
	}
}

func TestTallyAddsUp(t *testing.T) {
	var y tally
	for range 5 {
		y.sent()
	}
	for _, o := range []outcome{{status: 200}, {status: 404}, {status: 429}, {status: 429, reason: "deadline"}, {reason: "failed"}} {
		y.answered(o)
	}
	c := y.counts()
	if got := fmt.Sprint(c.Sent, c.Accepted, c.TooMany, c.refused(), " ", c.reasons()); got != "5 2 1 2 deadline 1, failed 1" {
		t.Error(got)
	}
	from := time.Now()
	for i := range mostRemember + 100 {
		y.Admission(t.Context(), riftrelay.AdmissionEvent{Waited: time.Duration(i), Outcome: riftrelay.OutcomeAdmitted})
	}
	y.Admission(t.Context(), riftrelay.AdmissionEvent{Reason: riftrelay.ReasonDeadline, Priority: riftrelay.High, Waited: time.Hour, Outcome: riftrelay.OutcomeRejected})
	if w := y.since(from.Add(-1), riftrelay.Normal); w.N != mostRemember || w.P50 != 100+(mostRemember-1)/2 {
		t.Errorf("%+v", w)
	}
	if w := y.since(from.Add(-1), riftrelay.High); w.N != 0 {
		t.Errorf("a call that wasn't admitted counts: %+v", w)
	}
	if w := y.since(time.Now().Add(time.Second), riftrelay.Normal); w.N != 0 {
		t.Errorf("old waits count: %+v", w)
	}
}
