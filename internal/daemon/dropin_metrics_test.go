package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// What dashboards and alerts of the relay's first version ask for: its metrics by their names, with the labels that its
// documentation lists. $…: what Grafana puts in when everything is selected.
var firstQueries = []string{
	// The dashboard's panels.
	`sum by (region) (rate(riftrelay_http_requests_total{region=~"$region", endpoint=~"$endpoint", priority=~"$priority"}[1m]))`,
	`sum by (region) (riftrelay_http_inflight{region=~"$region", endpoint=~"$endpoint", priority=~"$priority"})`,
	`histogram_quantile(0.99, sum by (region, le) (rate(riftrelay_request_duration_seconds_bucket{region=~"$region", priority=~"$priority"}[1m])))`,
	`histogram_quantile(0.95, sum by (region, le) (rate(riftrelay_request_duration_seconds_bucket{region=~"$region", priority=~"$priority"}[1m])))`,
	`histogram_quantile(0.5, sum by (region, le) (rate(riftrelay_request_duration_seconds_bucket{region=~"$region", priority=~"$priority"}[1m])))`,
	`sum by (region, code) (rate(riftrelay_upstream_responses_total{region=~"$region", endpoint=~"$endpoint", priority=~"$priority"}[1m]))`,
	`sum by (region, outcome) (rate(riftrelay_admission_total{region=~"$region", endpoint=~"$endpoint", priority=~"$priority"}[1m]))`,
	`sum by (priority, bucket) (riftrelay_queue_depth{priority=~"$priority"})`,
	`sum by (region) (riftrelay_http_requests_total{region=~"$region", endpoint=~"$endpoint", priority=~"$priority"})`,

	// What the documentation shows.
	`rate(riftrelay_upstream_responses_total{code="429"}[5m])`,
	`sum(rate(riftrelay_admission_total{outcome!="allowed"}[5m]))`,
	`histogram_quantile(0.99, sum by (le) (rate(riftrelay_queue_wait_seconds_bucket[5m])))`,
	`histogram_quantile(0.99, sum by (le) (rate(riftrelay_upstream_duration_seconds_bucket[5m])))`,
	`topk(10, riftrelay_queue_depth)`,

	// The labels and values one by one.
	`riftrelay_queue_depth{bucket=~"euw1:lol/.*"}`,
	`sum by (region, status_code) (rate(riftrelay_request_duration_seconds_count{region="euw1", priority="normal", status_code="200"}[1m]))`,
	`rate(riftrelay_admission_total{outcome="rejected_deadline", region="euw1", endpoint="lol/status/v4/platform-data", priority="high", budget_id="default"}[1m])`,
	`rate(riftrelay_admission_total{outcome="allowed", region="euw1", budget_id="worker"}[1m])`,
	`rate(riftrelay_queue_wait_seconds_count{bucket="euw1:lol/status/v4/platform-data", priority="normal", budget_id="worker"}[1m])`,
	`riftrelay_admission_total{outcome="shutting_down"}`,
	`riftrelay_admission_total{outcome="rejected_no_available_key"}`,
}

// Prometheus's own engine evaluates each query over several scrapes of a relay, and none comes out empty.
func TestQueriesOfTheFirstVersionHaveData(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool (Debian's package prometheus): the queries are not evaluated")
	}
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: "60:600"}, Requests: -1},
		map[string]string{"RATE_BUDGET_worker": "0.5"})
	if err := g.edge.Inject(riotsim.Fault{Host: "kr", Kind: riotsim.Service, Wait: time.Second, Times: 100}); err != nil {
		t.Fatal(err)
	}
	values := map[string][]string{} // of each series, by scrape
	const scrapes = 5
	for n := range scrapes {
		for _, r := range []string{"euw1", "na1"} {
			g.with(t, g.front+"/"+r+"/lol/status/v4/platform-data")
		}
		g.with(t, g.front+status, "X-Rate-Budget", "worker")
		g.with(t, g.front+"/kr/lol/status/v4/platform-data", "X-Max-Wait", "0")
		if n == 1 {
			for range 60 {
				if g.with(t, g.front+"/euw1/lol/status/v4/platform-data", "X-Max-Wait", "0").status != 200 {
					break
				}
			}
		}
		g.with(t, g.front+status, "X-Max-Wait", "0", "X-Priority", "high")
		for line := range strings.Lines(g.get(g.admin + "/metrics").body) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
			if ok && strings.HasPrefix(name, "riftrelay_") {
				v := values[name+"}"]
				for len(v) < n {
					v = append(v, "_")
				}
				values[name+"}"] = append(v, value)
			}
		}
	}
	var file strings.Builder
	file.WriteString("rule_files: []\nevaluation_interval: 15s\ntests:\n  - interval: 15s\n    input_series:\n")
	for series, v := range values {
		fmt.Fprintf(&file, "      - series: %s\n        values: %s\n", strconv.Quote(series), strconv.Quote(strings.Join(v, " ")))
	}
	file.WriteString("    promql_expr_test:\n")
	for _, q := range firstQueries {
		q = strings.NewReplacer("$region", ".*", "$endpoint", ".*", "$priority", "normal|high").Replace(q)
		fmt.Fprintf(&file, "      - expr: %s\n        eval_time: %ds\n        exp_samples: [{value: 1}]\n", strconv.Quote("count("+q+") > bool 0"), 15*(scrapes-1))
	}
	name := filepath.Join(t.TempDir(), "first.yml")
	if err := os.WriteFile(name, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", name).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
