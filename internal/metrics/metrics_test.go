package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"riftrelay"
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

func newMetrics() *Metrics { return New(Options{Version: "1.2", Table: table()}) }

// scrape returns the samples of the relay's own metrics, without comments.
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
	for range 3 {
		m.Started(r, riftrelay.Normal)
	}
	m.Started(put, riftrelay.High)
	m.Started(route.Route{}, riftrelay.Normal)
	m.Done(r, riftrelay.Normal, 200, "riot", 30*time.Millisecond)
	m.Done(put, riftrelay.High, 429, "relay", time.Second)
	m.Done(route.Route{}, riftrelay.Normal, 404, "relay", 0)
	m.Done(r, riftrelay.Normal, 1234, "riot", 0)
	m.Refused(riftrelay.ReasonInvalidMaxWait)
	expect(t, m,
		`riftrelay_http_inflight{endpoint="lol/status/v4/platform-data",priority="normal",region="euw1"} 1`,
		`riftrelay_http_inflight{endpoint="PUT lol/tournament/v5/codes/{tournamentCode}",priority="high",region="americas"} 0`,
		`riftrelay_http_requests_total{code="200",endpoint="lol/status/v4/platform-data",priority="normal",region="euw1",source="riot"} 1`,
		`riftrelay_http_requests_total{code="429",endpoint="PUT lol/tournament/v5/codes/{tournamentCode}",priority="high",region="americas",source="relay"} 1`,
		`riftrelay_http_requests_total{code="404",endpoint="",priority="normal",region="",source="relay"} 1`,
		`riftrelay_http_requests_total{code="other",endpoint="lol/status/v4/platform-data",priority="normal",region="euw1",source="riot"} 1`,
		`riftrelay_request_duration_seconds_bucket{priority="normal",region="euw1",status_code="200",le="0.025"} 0`,
		`riftrelay_request_duration_seconds_bucket{priority="normal",region="euw1",status_code="200",le="0.05"} 1`,
		`riftrelay_request_duration_seconds_sum{priority="high",region="americas",status_code="429"} 1`,
		`riftrelay_admission_total{budget_id="default",endpoint="",outcome="rejected_invalid_max_wait",priority="normal",region=""} 1`,
	)
}

func TestAdmissions(t *testing.T) {
	m := newMetrics()
	r := at(t, "GET", "euw1", "/lol/status/v4/platform-data")
	m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Key: "k", Priority: riftrelay.High, Budget: "worker", Waited: 20 * time.Second, Outcome: riftrelay.OutcomeAdmitted})
	m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Key: "k", Outcome: riftrelay.OutcomeAdmitted})
	m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Outcome: riftrelay.OutcomeCanceled, Waited: time.Hour})
	for _, reason := range []riftrelay.Reason{
		riftrelay.ReasonQueueFull, riftrelay.ReasonDeadline, riftrelay.ReasonTimeout, riftrelay.ReasonNoKey, riftrelay.ReasonShuttingDown,
		riftrelay.ReasonInvalidRoute, "invalid_token_index", riftrelay.ReasonInvalidMaxWait, riftrelay.ReasonInvalidBudget, "tomorrow", "tomorrow",
	} {
		m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Reason: reason, Outcome: riftrelay.OutcomeRejected})
	}
	const place = `endpoint="lol/status/v4/platform-data",outcome=`
	const normal = `,priority="normal",region="euw1"} `
	expect(t, m,
		`riftrelay_admission_total{budget_id="worker",`+place+`"allowed",priority="high",region="euw1"} 1`,
		`riftrelay_admission_total{budget_id="default",`+place+`"allowed"`+normal+`1`,
		`riftrelay_admission_total{budget_id="other",`+place+`"rejected_invalid_budget"`+normal+`1`,
		`riftrelay_admission_total{budget_id="default",`+place+`"canceled"`+normal+`1`,
		`riftrelay_admission_total{budget_id="default",`+place+`"rejected_queue_full"`+normal+`1`,
		`riftrelay_admission_total{budget_id="default",`+place+`"rejected_deadline"`+normal+`1`,
		`riftrelay_admission_total{budget_id="default",`+place+`"rejected_timeout"`+normal+`1`,
		`riftrelay_admission_total{budget_id="default",`+place+`"rejected_no_available_key"`+normal+`1`,
		`riftrelay_admission_total{budget_id="default",`+place+`"shutting_down"`+normal+`1`,
		`riftrelay_admission_total{budget_id="default",`+place+`"rejected_invalid_route"`+normal+`1`,
		`riftrelay_admission_total{budget_id="default",`+place+`"rejected_invalid_token_index"`+normal+`1`,
		`riftrelay_admission_total{budget_id="default",`+place+`"rejected_other"`+normal+`2`,
		`riftrelay_admission_total{budget_id="default",endpoint="",outcome="rejected_queue_full",priority="normal",region=""} 0`,
		`riftrelay_queue_wait_seconds_sum{bucket="euw1:lol/status/v4/platform-data",budget_id="worker",priority="high"} 20`,
		`riftrelay_queue_wait_seconds_count{bucket="euw1:lol/status/v4/platform-data",budget_id="default",priority="normal"} 2`,
	)
}

// Histograms are most of the series. METRICS_ENDPOINTS=false counts them by region.
func TestWithoutEndpoints(t *testing.T) {
	m := New(Options{Table: table(), WithoutEndpoints: true})
	exercise(t, m, "euw1")
	expect(t, m,
		`riftrelay_queue_wait_seconds_count{bucket="euw1",budget_id="default",priority="normal"} 1`,
		`riftrelay_upstream_duration_seconds_count{endpoint="",region="euw1"} 1`,
		`riftrelay_http_requests_total{code="200",endpoint="lol/status/v4/platform-data",priority="normal",region="euw1",source="riot"} 1`,
	)
}

func TestAnswers(t *testing.T) {
	m := newMetrics()
	r := at(t, "GET", "kr", "/lol/status/v4/platform-data")
	kind := riftrelay.LimitApplication
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "k", Status: 200, Duration: 150 * time.Millisecond})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "k", Status: 429, Kind: kind, Own: true, Retry: true})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "k", Status: 429, Kind: kind})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "k", Status: 503, Retry: true})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Err: errors.New("reset"), Retry: true, Duration: time.Hour})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Err: fmt.Errorf("dial: %w", context.Canceled)})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Err: riftrelay.ErrUpstreamTimeout, Priority: riftrelay.High})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Err: context.DeadlineExceeded, Priority: riftrelay.High})
	const endpoint = `endpoint="lol/status/v4/platform-data"`
	expect(t, m,
		`riftrelay_upstream_responses_total{code="200",`+endpoint+`,key="k",priority="normal",region="kr"} 1`,
		`riftrelay_upstream_responses_total{code="429",`+endpoint+`,key="k",priority="normal",region="kr"} 2`,
		`riftrelay_upstream_responses_total{code="502",`+endpoint+`,key="",priority="normal",region="kr"} 1`,
		`riftrelay_upstream_responses_total{code="499",`+endpoint+`,key="",priority="normal",region="kr"} 1`,
		`riftrelay_upstream_responses_total{code="504",`+endpoint+`,key="",priority="high",region="kr"} 2`,
		`riftrelay_upstream_duration_seconds_count{`+endpoint+`,region="kr"} 4`,
		`riftrelay_upstream_429_total{`+endpoint+`,key="k",region="kr",type="`+string(kind)+`"} 2`,
		`riftrelay_violations_total{`+endpoint+`,key="k",region="kr"} 1`,
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
			{Host: "euw1", Method: "PUT /lol/tournament/v5/codes/{tournamentCode}", Priority: riftrelay.High, Depth: 4},
			{Host: "xx1", Method: "/lol/x", Depth: 1}, {Host: "xx2", Method: "/lol/x", Depth: 2},
		},
	}
}

func TestCollector(t *testing.T) {
	m := newMetrics()
	scrapes := 0
	m.Watch(func() riftrelay.Snapshot { scrapes++; return snapshot() })
	m.Started(at(t, "GET", "kr", "/lol/status/v4/platform-data"), riftrelay.High)
	expect(t, m,
		`riftrelay_margin_seconds 0.15`,
		`riftrelay_key_state{key="a",state="usable"} 1`,
		`riftrelay_key_state{key="a",state="suspect"} 0`,
		`riftrelay_key_state{key="a",state="disabled"} 0`,
		`riftrelay_key_state{key="b",state="usable"} 0`,
		`riftrelay_key_state{key="b",state="suspect"} 1`,
		`riftrelay_key_state{key="c",state="suspect"} 0`,
		`riftrelay_key_state{key="c",state="disabled"} 1`,
		`riftrelay_breaker_level{endpoint="lol/x",key="a",region="euw1"} 2`,
		`riftrelay_cooldowns{scope="application"} 1`,
		`riftrelay_cooldowns{scope="method"} 0`,
		`riftrelay_limit{endpoint="",key="a",region="euw1",scope="application",window="1"} 20`,
		`riftrelay_limit{endpoint="",key="a",region="euw1",scope="application",window="120"} 100`,
		`riftrelay_limit{endpoint="lol/x",key="a",region="euw1",scope="method",window="10"} 5`,
		`riftrelay_limit_used{endpoint="",key="a",region="euw1",scope="application",window="1"} 7`,
		`riftrelay_budget_limit{budget_id="crawler",key="a",region="euw1",window="120"} 30`,
		`riftrelay_budget_used{budget_id="crawler",key="a",region="euw1",window="120"} 12`,
		`riftrelay_limit_others{endpoint="",key="a",region="euw1",scope="application",window="1"} 2`,
		`riftrelay_limit_in_flight{endpoint="",key="a",region="euw1",scope="application",window="1"} 3`,
		`riftrelay_limit_reset_seconds{endpoint="",key="a",region="euw1",scope="application",window="1"} 0.9`,
		`riftrelay_queue_depth{bucket="euw1:PUT lol/tournament/v5/codes/{tournamentCode}",priority="high"} 4`,
		`riftrelay_queue_depth{bucket="other:lol/x",priority="normal"} 3`,
		`riftrelay_queue_depth{bucket="kr:lol/status/v4/platform-data",priority="high"} 0`, // was called, doesn't wait
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
	m.Started(r, riftrelay.Normal)
	m.Admission(t.Context(), riftrelay.AdmissionEvent{Route: r, Key: "a", Outcome: riftrelay.OutcomeAdmitted})
	m.Answer(t.Context(), riftrelay.AnswerEvent{Route: r, Key: "a", Status: 429, Own: true, Retry: true})
	m.Change(riftrelay.ChangeEvent{Kind: riftrelay.ChangeCooldownBegan, Key: "a", Host: host})
	m.Done(r, riftrelay.Normal, 200, "riot", time.Millisecond)
}
