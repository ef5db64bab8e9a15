package check

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

// docs/metrics.md has each metric that a relay shows, as it shows it.
func TestPageOfMetrics(t *testing.T) {
	r := busyRelay(t)
	var has string
	eventually(t, "docs/metrics.md as a relay shows it, or a queue", func() bool {
		s := r.scrape()
		has = metricsPage(r.families())
		return s["riftrelay_queue_depth"] != nil && (*update || has == read(t, "docs/metrics.md"))
	})
	if *update {
		if err := os.WriteFile(filepath.Join(root, "docs/metrics.md"), []byte(has), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const aboutMetrics = `<!-- Generated from what a relay shows. Write it anew with: go -C deploy/check test -run TestPageOfMetrics . -update -->

# Metrics

` + "`" + `/metrics` + "`" + ` on the admin listener (` + "`" + `ENABLE_METRICS` + "`" + `), with ` + "`" + `METRICS_ON_RELAY` + "`" + ` on the relay's port as well, in Prometheus' format.
What has not happened yet has no series. [Operations](operations.md#metrics) has the alerts, the Grafana dashboard, and which metrics are worth watching.

## Labels

Names and values of labels are those of the relay's first version; dashboards and alerts made for it keep working.

| label | value |
|---|---|
| ` + "`" + `region` + "`" + ` | a host of Riot's: ` + "`" + `euw1` + "`" + `, ` + "`" + `europe` + "`" + ` |
| ` + "`" + `endpoint` + "`" + ` | a method's path without its first slash: ` + "`" + `lol/match/v5/matches/{matchId}` + "`" + `. Where a path has a GET and another verb, the other verb stands in front: ` + "`" + `PUT lol/tournament/v5/codes/{tournamentCode}` + "`" + ` |
| ` + "`" + `bucket` + "`" + ` | region and endpoint: ` + "`" + `euw1:lol/match/v5/matches/{matchId}` + "`" + ` |
| ` + "`" + `priority` + "`" + ` | ` + "`" + `normal` + "`" + ` or ` + "`" + `high` + "`" + ` |
| ` + "`" + `budget_id` + "`" + ` | a budget's name; ` + "`" + `default` + "`" + ` for none |
| ` + "`" + `outcome` + "`" + ` | ` + "`" + `allowed` + "`" + `, ` + "`" + `canceled` + "`" + ` (the client left), ` + "`" + `shutting_down` + "`" + `, or ` + "`" + `rejected_` + "`" + ` and why |
| ` + "`" + `code` + "`" + `, ` + "`" + `status_code` + "`" + ` | an HTTP status; 499 means that the client left first |
| ` + "`" + `key` + "`" + ` | a key's name, never its value; empty for calls without a key |

All labels are bounded: hosts that aren't Riot's, methods that the table doesn't list and names beyond a limit share ` + "`" + `other` + "`" + `.

## How many series

The 82 methods on their 28 hosts are 728 pairs. In the worst case every pair is called with both priorities on one key, and has one status.
That is 48642 series, and 13642 with ` + "`" + `METRICS_ENDPOINTS=false` + "`" + `, which counts histograms by region. Each further status adds up to 3920.
Each further key adds up to 5376. Each budget that all pairs use adds up to 26208, or 2408 with ` + "`" + `METRICS_ENDPOINTS=false` + "`" + `.

## All metrics

| metric | kind | |
|---|---|---|
`

// metricsPage is docs/metrics.md.
func metricsPage(families map[string]*dto.MetricFamily) string {
	var b strings.Builder
	b.WriteString(aboutMetrics)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		if !strings.HasPrefix(name, "riftrelay_") {
			continue
		}
		seen := map[string]bool{}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				seen[l.GetName()] = true
			}
		}
		labels := ""
		if len(seen) > 0 {
			labels = "{" + strings.Join(slices.Sorted(maps.Keys(seen)), ",") + "}"
		}
		fmt.Fprintf(&b, "| `%s%s` | %s | %s |\n", name, labels, strings.ToLower(f.GetType().String()), f.GetHelp())
	}
	b.WriteString("\nBesides those of the Go runtime and the process, `go_…` and `process_…`.\n")
	return b.String()
}
