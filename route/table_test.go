package route_test

import (
	"slices"
	"strings"
	"testing"

	"riftrelay/route"
)

// sample fills a template's parameters.
func sample(template string) string {
	segments := strings.Split(template, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") {
			segments[i] = "EUW1_7"
		}
	}
	return strings.Join(segments, "/")
}

func TestEveryRowOnEveryHost(t *testing.T) {
	table := route.Default()
	if n := len(table.Methods()); n != 82 {
		t.Errorf("%d built-in methods, want 82", n)
	}
	if got, want := len(table.Hosts()), 28; got != want {
		t.Errorf("%d built-in hosts, want %d: %v", got, want, table.Hosts())
	}
	for _, m := range table.Methods() {
		for _, host := range table.Hosts() {
			got, err := table.Match(m.Verb, host, sample(m.Template))
			if !slices.Contains(m.Hosts, host) {
				if e, ok := err.(*route.Error); !ok || e.Problem != route.NotServed || e.Status != 404 {
					t.Errorf("%s at %s: %v, %v; want a refusal: not served", m, host, got, err)
				}
				continue
			}
			if err != nil || got.Method != m || got.Host != host {
				t.Errorf("%s at %s: %v, %v", m, host, got, err)
			}
		}
	}
}
