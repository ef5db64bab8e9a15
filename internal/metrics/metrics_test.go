package metrics

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"riftrelay"
	"riftrelay/limit"
	"riftrelay/route"
)

var table = sync.OnceValue(route.Default)

func at(t testing.TB, verb, host, path string) route.Route {
	t.Helper()
	r, err := table().Match(verb, host, path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newMetrics() *Metrics { return New(Options{Version: "1.2", Hosts: table().Hosts()}) }

// scrape gives the samples of the relay's own metrics, without comments.
func scrape(t testing.TB, m *Metrics) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "riftrelay_") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

func expect(t testing.TB, m *Metrics, want ...string) {
	t.Helper()
	got := strings.Join(scrape(t, m), "\n") + "\n"
	for _, line := range want {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s in\n%s", line, got)
		}
	}
}

func TestCalls(t *testing.T) {
	m := newMetrics()
	r := at(t, "GET", "euw1", "/lol/status/v4/platform-data")
	put := at(t, "PUT", "americas", "/lol/tournament/v5/codes/x")
	for range 5 {
		m.Started()
	}
	m.Done(r, 200, "riot", 30*time.Millisecond)
	m.Done(put, 429, "relay", time.Second)
	m.Done(route.Route{}, 404, "relay", 0)
	m.Done(r, 1234, "riot", 0)
	m.Refused(riftrelay.ReasonInvalidMaxWait)
	expect(t, m,
		`riftrelay_http_inflight 1`,
		`riftrelay_http_requests_total{code="200",host="euw1",method="/lol/status/v4/platform-data",source="riot"} 1`,
		`riftrelay_http_requests_total{code="429",host="americas",method="PUT /lol/tournament/v5/codes/{tournamentCode}",source="relay"} 1`,
		`riftrelay_http_requests_total{code="404",host="",method="",source="relay"} 1`,
		`riftrelay_http_requests_total{code="other",host="euw1",method="/lol/status/v4/platform-data",source="riot"} 1`,
		`riftrelay_request_duration_seconds_bucket{host="euw1",source="riot",le="0.025"} 1`,
		`riftrelay_request_duration_seconds_bucket{host="euw1",source="riot",le="0.05"} 2`,
		`riftrelay_request_duration_seconds_sum{host="americas",source="relay"} 1`,
		`riftrelay_admission_total{outcome="rejected_invalid_max_wait"} 1`,
	)
}

func TestAdmissions(t *testing.T) {
	m := newMetrics()
	r := at(t, "GET", "euw1", "/lol/status/v4/platform-data")
	m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Key: "k", Priority: riftrelay.High, Waited: 20 * time.Second})
	m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Key: "k"})
	m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Gone: true, Waited: time.Hour})
	for _, reason := range []riftrelay.Reason{
		riftrelay.ReasonQueueFull, riftrelay.ReasonDeadline, riftrelay.ReasonTimeout, riftrelay.ReasonNoKey, riftrelay.ReasonShuttingDown,
		riftrelay.ReasonInvalidRoute, riftrelay.ReasonInvalidTokenIndex, riftrelay.ReasonInvalidMaxWait, riftrelay.ReasonInvalidBudget, "tomorrow", "tomorrow",
	} {
		m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Reason: reason, Waited: time.Hour})
	}
	expect(t, m,
		`riftrelay_admission_total{outcome="allowed"} 2`,
		`riftrelay_admission_total{outcome="rejected_invalid_budget"} 1`,
		`riftrelay_admission_total{outcome="canceled"} 1`,
		`riftrelay_admission_total{outcome="rejected_queue_full"} 1`,
		`riftrelay_admission_total{outcome="rejected_deadline"} 1`,
		`riftrelay_admission_total{outcome="rejected_timeout"} 1`,
		`riftrelay_admission_total{outcome="rejected_no_key"} 1`,
		`riftrelay_admission_total{outcome="rejected_shutting_down"} 1`,
		`riftrelay_admission_total{outcome="rejected_invalid_route"} 1`,
		`riftrelay_admission_total{outcome="rejected_invalid_token_index"} 1`,
		`riftrelay_admission_total{outcome="rejected_other"} 2`,
		`riftrelay_admission_wait_seconds_sum{host="euw1",method="/lol/status/v4/platform-data",priority="high"} 20`,
		`riftrelay_admission_wait_seconds_count{host="euw1",method="/lol/status/v4/platform-data",priority="normal"} 1`,
	)
}

func TestAnswers(t *testing.T) {
	m := newMetrics()
	r := at(t, "GET", "kr", "/lol/status/v4/platform-data")
	kind := limit.Application
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "k", Status: 200, Duration: 150 * time.Millisecond})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "k", Status: 429, Kind: kind, Own: true, Retry: true})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "k", Status: 429, Kind: kind})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "k", Status: 503, Retry: true})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Err: errors.New("reset"), Retry: true, Duration: time.Hour})
	const labels = `host="kr",key="k",method="/lol/status/v4/platform-data"`
	expect(t, m,
		`riftrelay_upstream_responses_total{code="200",`+labels+`} 1`,
		`riftrelay_upstream_responses_total{code="429",`+labels+`} 2`,
		`riftrelay_upstream_responses_total{code="none",host="kr",key="",method="/lol/status/v4/platform-data"} 1`,
		`riftrelay_upstream_duration_seconds_count{host="kr",method="/lol/status/v4/platform-data"} 4`,
		`riftrelay_upstream_429_total{`+labels+`,type="`+kind.String()+`"} 2`,
		`riftrelay_violations_total{`+labels+`} 1`,
		`riftrelay_retries_total{cause="429"} 1`,
		`riftrelay_retries_total{cause="status"} 1`,
		`riftrelay_retries_total{cause="error"} 1`,
	)
}

func TestChanges(t *testing.T) {
	m := newMetrics()
	m.Watch(func() riftrelay.Snapshot { return riftrelay.Snapshot{HookPanics: 3} })
	m.Change(riftrelay.ChangeEvent{Kind: riftrelay.ChangeLimitReached, Key: "k", Host: "kr"})
	m.Change(riftrelay.ChangeEvent{Kind: riftrelay.ChangeLimitReached})
	m.Change(riftrelay.ChangeEvent{Kind: riftrelay.ChangeLimitLearned})
	expect(t, m,
		`riftrelay_changes_total{kind="limit_reached"} 2`,
		`riftrelay_changes_total{kind="limit_learned"} 1`,
		`riftrelay_changes_total{kind="key_suspended"} 0`,
		`riftrelay_hook_panics_total 3`,
	)
}

func snapshot() riftrelay.Snapshot {
	return riftrelay.Snapshot{
		Margin: 150 * time.Millisecond,
		Keys:   []riftrelay.KeyState{{Name: "a", Usable: true, State: riftrelay.KeyUsable}, {Name: "b", State: riftrelay.KeySuspect}, {Name: "c", State: riftrelay.KeyDisabled}},
		Scopes: []riftrelay.ScopeState{
			{Key: "a", Host: "euw1", Cooldown: time.Second, Windows: []riftrelay.WindowState{
				{Limit: 20, Window: time.Second, Used: 7, Others: 2, InFlight: 3, ResetIn: 900 * time.Millisecond},
				{Limit: 100, Window: 2 * time.Minute, Used: 50},
			}, Budgets: []riftrelay.BudgetState{{Name: "crawler", Windows: []riftrelay.WindowState{{Limit: 30, Window: 2 * time.Minute, Used: 12}}}}},
			{Key: "a", Host: "euw1", Method: "/lol/x", Halved: 2, Windows: []riftrelay.WindowState{{Limit: 5, Window: 10 * time.Second}},
				Budgets: []riftrelay.BudgetState{{Name: "crawler", Windows: []riftrelay.WindowState{{Limit: 2, Window: 10 * time.Second}}}}},
			{Key: "a", Host: "xx1", Halved: 1, Windows: []riftrelay.WindowState{{Limit: 1, Window: time.Second}}},
		},
		Queues: []riftrelay.QueueState{
			{Host: "euw1", Method: "PUT /lol/x", Priority: riftrelay.High, Depth: 4},
			{Host: "xx1", Method: "/lol/x", Depth: 1}, {Host: "xx2", Method: "/lol/x", Depth: 2},
		},
	}
}

func TestCollector(t *testing.T) {
	m := newMetrics()
	scrapes := 0
	m.Watch(func() riftrelay.Snapshot { scrapes++; return snapshot() })
	expect(t, m,
		`riftrelay_margin_seconds 0.15`,
		`riftrelay_key_state{key="a",state="usable"} 1`,
		`riftrelay_key_state{key="a",state="suspect"} 0`,
		`riftrelay_key_state{key="a",state="disabled"} 0`,
		`riftrelay_key_state{key="b",state="usable"} 0`,
		`riftrelay_key_state{key="b",state="suspect"} 1`,
		`riftrelay_key_state{key="c",state="suspect"} 0`,
		`riftrelay_key_state{key="c",state="disabled"} 1`,
		`riftrelay_breaker_level{host="euw1",key="a",method="/lol/x"} 2`,
		`riftrelay_cooldowns{scope="application"} 1`,
		`riftrelay_cooldowns{scope="method"} 0`,
		`riftrelay_limit{host="euw1",key="a",method="",scope="application",window="1"} 20`,
		`riftrelay_limit{host="euw1",key="a",method="",scope="application",window="120"} 100`,
		`riftrelay_limit{host="euw1",key="a",method="/lol/x",scope="method",window="10"} 5`,
		`riftrelay_limit_used{host="euw1",key="a",method="",scope="application",window="1"} 7`,
		`riftrelay_budget_limit{budget="crawler",host="euw1",key="a",window="120"} 30`,
		`riftrelay_budget_used{budget="crawler",host="euw1",key="a",window="120"} 12`,
		`riftrelay_limit_others{host="euw1",key="a",method="",scope="application",window="1"} 2`,
		`riftrelay_limit_in_flight{host="euw1",key="a",method="",scope="application",window="1"} 3`,
		`riftrelay_limit_reset_seconds{host="euw1",key="a",method="",scope="application",window="1"} 0.9`,
		`riftrelay_queue_depth{bucket="euw1:PUT /lol/x",priority="high"} 4`,
		`riftrelay_queue_depth{bucket="other:/lol/x",priority="normal"} 3`,
	)
	if scrapes != 1 {
		t.Errorf("%d snapshots for one scrape, want 1", scrapes)
	}
	all := strings.Join(scrape(t, m), "\n")
	if strings.Contains(all, "xx1") {
		t.Errorf("an unlisted host is a label:\n%s", all)
	}
	if n := strings.Count(all, "riftrelay_breaker_level{"); n != 1 {
		t.Errorf("%d breakers, want the one that is tripped", n)
	}
}

func TestTries(t *testing.T) {
	m := newMetrics()
	m.Reloaded(true)
	m.StateWritten(true)
	m.StateWritten(true)
	m.StateWritten(false)
	expect(t, m,
		`riftrelay_config_reloads_total{result="success"} 1`,
		`riftrelay_config_reloads_total{result="failure"} 0`,
		`riftrelay_state_writes_total{result="success"} 2`,
		`riftrelay_state_writes_total{result="failure"} 1`,
	)
}

func TestProcessAndBuild(t *testing.T) {
	w := httptest.NewRecorder()
	newMetrics().Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	all, _ := io.ReadAll(w.Body)
	for _, want := range []string{"go_goroutines ", "process_cpu_seconds_total ", `riftrelay_build_info{goversion="go1.`, `version="1.2"} 1`} {
		if !strings.Contains(string(all), want) {
			t.Errorf("no %q", want)
		}
	}
}

// Names obey Prometheus' conventions.
func TestLint(t *testing.T) {
	m := newMetrics()
	exercise(t, m, "euw1")
	m.Watch(snapshot)
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, namespace) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// exercise does everything once.
func exercise(t testing.TB, m *Metrics, host string) {
	r := at(t, "GET", "euw1", "/lol/status/v4/platform-data")
	r.Host = host
	m.Started()
	m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Key: "a"})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "a", Status: 429, Own: true, Retry: true})
	m.Change(riftrelay.ChangeEvent{Kind: riftrelay.ChangeCooldownBegan, Key: "a", Host: host})
	m.Done(r, 200, "riot", time.Millisecond)
}
