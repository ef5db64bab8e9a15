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

` + "`/metrics` on the admin listener (`ENABLE_METRICS`), with `METRICS_ON_RELAY` on the relay's port as well, in Prometheus' format. `key` is a key's name, never its value." + `
Labels are bounded: hosts that aren't Riot's, methods that the table doesn't list and names beyond a limit share ` + "`other`" + `. What has not happened yet has no series.
Alerts, the Grafana dashboard, and which of these are worth watching: [operations](operations.md#metrics).

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
