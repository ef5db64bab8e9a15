package check

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// scrape is what Prometheus would read: for each series' name the sets of its
// labels.
type scrape map[string][]map[string]string

// scrape reads the metrics, with the labels that Prometheus adds.
func (r *relay) scrape() scrape {
	r.t.Helper()
	return series(r.families())
}

// families reads the metrics as the relay shows them.
func (r *relay) families() map[string]*dto.MetricFamily {
	r.t.Helper()
	resp, err := http.Get(r.admin + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("scrape: %d %v\n%s", resp.StatusCode, err, text)
	}
	return parse(r.t, string(text))
}

func parse(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func series(families map[string]*dto.MetricFamily) scrape {
	s := scrape{}
	add := func(name string, m *dto.Metric, more ...string) {
		set := map[string]string{"job": "riftrelay", "instance": "riftrelay:8986"}
		for _, l := range m.Label {
			set[l.GetName()] = l.GetValue()
		}
		for i := 0; i < len(more); i += 2 {
			set[more[i]] = more[i+1]
		}
		s[name] = append(s[name], set)
	}
	add("up", &dto.Metric{})
	for name, f := range families {
		for _, m := range f.Metric {
			if m.Histogram == nil {
				add(name, m)
				continue
			}
			add(name+"_sum", m)
			add(name+"_count", m)
			for _, b := range m.Histogram.Bucket {
				add(name+"_bucket", m, "le", fmt.Sprint(b.GetUpperBound()))
			}
		}
	}
	return s
}

// families are the names without what histograms add to them.
func (s scrape) families() []string {
	found := map[string]bool{}
	for name := range s {
		if strings.HasPrefix(name, "riftrelay_") {
			found[family(s, name)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func family(s scrape, name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && s[base+"_bucket"] != nil {
			return base
		}
	}
	return name
}

// problems says what a query asks for and a scrape doesn't have: metrics, labels
// and values of labels. It returns the names of the metrics, too.
func (s scrape) problems(query string) (names, found []string) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return nil, []string{err.Error()}
	}
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			names = append(names, n.Name)
			if s[n.Name] == nil {
				say("no metric %s", n.Name)
				break
			}
			for _, m := range n.LabelMatchers {
				if m.Name != model.MetricNameLabel {
					if problem := s.matches(n.Name, m); problem != "" {
						say("%s", problem)
					}
				}
			}
		case *parser.AggregateExpr:
			for _, l := range n.Grouping {
				if !s.anyHas(n.Expr, l) {
					say("nothing in %s has the label %s", n.Expr, l)
				}
			}
		case *parser.BinaryExpr:
			if n.VectorMatching == nil {
				break
			}
			for _, l := range n.VectorMatching.MatchingLabels {
				if !s.anyHas(n.LHS, l) || !s.anyHas(n.RHS, l) {
					say("no label %s on both sides of %s", l, n)
				}
			}
		}
		return nil
	})
	return names, found
}

func (s scrape) matches(name string, m *labels.Matcher) string {
	known := false
	for _, set := range s[name] {
		v, has := set[m.Name]
		known = known || has
		if has && (m.Matches(v) || m.Type == labels.MatchNotEqual) {
			return ""
		}
	}
	if !known {
		return fmt.Sprintf("%s has no label %s", name, m.Name)
	}
	return fmt.Sprintf("%s has no series with %s", name, m)
}

// anyHas says whether a metric in the expression has the label.
func (s scrape) anyHas(expr parser.Expr, label string) bool {
	has := false
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			for _, set := range s[v.Name] {
				_, ok := set[label]
				has = has || ok
			}
		}
		return nil
	})
	return has
}

// A check that sees nothing guards nothing.
func TestQueriesThatAskForTooMuch(t *testing.T) {
	s := series(parse(t, "# TYPE a counter\na{code=\"200\"} 1\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n"))
	for query, want := range map[string]string{
		`sum by (code) (rate(a{code=~"2..",instance=~".*"}[5m]))`:   "",
		`histogram_quantile(0.9, sum by (le) (rate(h_bucket[1m])))`: "",
		`rate(b[5m])`:             "no metric b",
		`a{cod="200"}`:            "a has no label cod",
		`a{code="404"}`:           "no series with",
		`sum by (cod) (a)`:        "has the label cod",
		`a / on (le) h_bucket`:    "no label le",
		`sum by (code) (a`:        "unclosed",
		`a unless on (job) h_sum`: "",
	} {
		_, found := s.problems(query)
		if got := strings.Join(found, "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if got := s.families(); len(got) != 0 {
		t.Errorf("families %q", got)
	}
}

var interpolated = regexp.MustCompile(`\{\{ *\.?(?:\$labels\.)?([a-zA-Z_]+) *\}\}`)

// placeholders are the labels that a legend or an annotation shows.
func placeholders(text string) []string {
	var found []string
	for _, m := range interpolated.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}
