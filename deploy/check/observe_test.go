package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const dashboardFile = "grafana/dashboards/riftrelay.json"

type dashboard struct {
	UID        string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Annotations struct{ List []struct{ Name, Expr string } }
	Panels      []panel
}

type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ RefID, Expr, LegendFormat string }
}

// variables are what Grafana puts in for itself and for the dashboard's own.
var variables = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$key", ".*", "$region", ".*")

// Each query of each panel and each alert finds its metrics and labels in what a
// relay really shows; and all that it shows is on a panel.
func TestDashboardAndAlertsAskForWhatThereIs(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	rules := alerts(t)
	r := busyRelay(t)
	var s scrape
	// The kinds of series that come last: calls that wait, the state's first writing.
	eventually(t, "a queue", func() bool { s = r.scrape(); return s["riftrelay_queue_depth"] != nil })

	shown := map[string]bool{}
	ask := func(where, query string, labels []string) {
		query = variables.Replace(query)
		names, problems := s.problems(query)
		if len(problems) > 0 {
			t.Errorf("%s: %s\n\t%s", where, query, strings.Join(problems, "\n\t"))
			return
		}
		for _, n := range names {
			shown[family(s, n)] = true
		}
		for _, l := range labels {
			if !slices.ContainsFunc(names, func(n string) bool {
				return slices.ContainsFunc(s[n], func(set map[string]string) bool { _, ok := set[l]; return ok })
			}) {
				t.Errorf("%s shows {{%s}}, which %s doesn't have", where, l, query)
			}
		}
	}
	queries := 0
	for _, p := range d.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			ask("panel "+p.Title, target.Expr, placeholders(target.LegendFormat))
			queries++
		}
	}
	for _, a := range d.Annotations.List {
		ask("annotation "+a.Name, a.Expr, nil)
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		metric, label, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v.Definition, "label_values("), ")"), ", ")
		ask("variable "+v.Name, metric, []string{label})
	}
	for _, f := range s.families() {
		if !shown[f] {
			t.Errorf("no panel shows %s", f)
		}
	}
	for _, rule := range rules {
		ask("alert "+rule.Alert, rule.Expr, append(placeholders(rule.Annotations["summary"]), placeholders(rule.Annotations["description"])...))
	}
	if queries < 40 || len(s.families()) < 30 {
		t.Errorf("%d queries, %d families: not read right", queries, len(s.families()))
	}
}

// Grafana doesn't say when two panels overlap or share an id.
func TestDashboardIsLaidOut(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("panel %q has the id %d of another", p.Title, p.ID)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.W == 0 || g.H == 0 || g.X+g.W > 24 {
			t.Errorf("panel %q lies at %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
	if d.UID != "riftrelay" {
		t.Errorf("uid %q: links to the dashboard change", d.UID)
	}
}

type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(read(t, "grafana/alerts.yml")), &file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no alerts")
	}
	return all
}

// Whoever is woken by an alert finds what to do; and each alert is seen to come.
func TestAlertsAreExplainedAndTested(t *testing.T) {
	doc := read(t, "docs/operations.md")
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string           `yaml:"alertname"`
				ExpAlerts []map[string]any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "grafana/alerts_test.yml")), &file); err != nil {
		t.Fatal(err)
	}
	comes, stays := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, a := range test.AlertRuleTest {
			if len(a.ExpAlerts) > 0 {
				comes[a.Alertname] = true
			} else {
				stays[a.Alertname] = true
			}
		}
	}
	for _, r := range alerts(t) {
		if !strings.Contains(doc, "| `"+r.Alert+"` |") {
			t.Errorf("docs/operations.md doesn't say what to do after %s", r.Alert)
		}
		if !comes[r.Alert] || !stays[r.Alert] {
			t.Errorf("alerts_test.yml: %s is expected to come %v, and to stay away %v; both are needed", r.Alert, comes[r.Alert], stays[r.Alert])
		}
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s has severity %q; critical or warning", r.Alert, s)
		}
		if r.Annotations["summary"] == "" {
			t.Errorf("%s has no summary", r.Alert)
		}
	}
	for name := range maps.Keys(comes) {
		if !slices.ContainsFunc(alerts(t), func(r rule) bool { return r.Alert == name }) {
			t.Errorf("alerts_test.yml tests %s, which there isn't", name)
		}
	}
}

func TestAlertsComeWhenTheyShould(t *testing.T) {
	promtool := need(t, "promtool", "prometheus")
	output(t, root+"/grafana", promtool, "test", "rules", "alerts_test.yml")
	output(t, root+"/grafana", promtool, "check", "config", "prometheus.yml")
}
