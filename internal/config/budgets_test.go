package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"riftrelay"
)

func TestBudgets(t *testing.T) {
	w := world{
		env: map[string]string{
			"RIOT_TOKEN": "RGAPI-x", "CONFIG_FILE": "relay.yaml", "BUDGET_OVERRIDES": "below", "HARD_BUDGETS": "CRAWLER",
			"RATE_BUDGET_Crawler": "0.3", "RATE_BUDGET_Crawler_OVERRIDES": "kr:lol/match/v5 = 0.2, lol/league=1,kr:/=0.5",
			"RATE_BUDGET_empty": "",
		},
		files: map[string]string{
			".env":       "RATE_BUDGET_CRAWLER=0.9\nRATE_BUDGET_id=.1\n",
			"relay.yaml": "rate_budget_web-site: 1\nrate_budget_web-site_overrides:\n  - lol/match/v5/matches/{matchId}=0.6\n  - na1:tft=0.1\n",
		},
	}
	in := mustParse(t, w)
	want := []riftrelay.Budget{
		{Name: "crawler", Share: 0.3, Hard: true, Overrides: []riftrelay.ShareOverride{
			{Host: "kr", Path: "/lol/match/v5", Share: 0.2, Below: true}, {Path: "/lol/league", Share: 1, Below: true}, {Host: "kr", Path: "/", Share: 0.5, Below: true},
		}},
		{Name: "id", Share: 0.1},
		{Name: "web-site", Share: 1, Overrides: []riftrelay.ShareOverride{{Path: "/lol/match/v5/matches/{matchId}", Share: 0.6, Below: true}, {Host: "na1", Path: "/tft", Share: 0.1, Below: true}}},
	}
	if !reflect.DeepEqual(in.Settings.Budgets, want) || !reflect.DeepEqual(in.Settings.Limiter().Budgets, want) {
		t.Errorf("%+v, want %+v", in.Settings.Budgets, want)
	}
	if len(in.Warnings) > 0 {
		t.Errorf("warnings %q", in.Warnings)
	}
	l, err := riftrelay.New(in.Settings.Limiter())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	found := false
	for _, e := range in.Settings.Effective() {
		found = found || e.Name == "RATE_BUDGET_Crawler" && e.Value == "0.3" && e.Source == "in the environment"
	}
	if !found {
		t.Errorf("not shown:\n%s", in.Settings.Describe())
	}
}

func TestBudgetErrors(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		want []string
	}{
		{"share", map[string]string{"RATE_BUDGET_A": "0", "RATE_BUDGET_B": "1.1", "RATE_BUDGET_C": "half"}, []string{
			`RATE_BUDGET_A is "0"; allowed: a share above 0 and at most 1, as in 0.3 (set in the environment)`, `RATE_BUDGET_B is "1.1"`, `RATE_BUDGET_C is "half"`,
		}},
		{"id", map[string]string{"RATE_BUDGET_a.b": "0.5", "RATE_BUDGET_default": "0.5"}, []string{`RATE_BUDGET_a.b has the id "a.b"; allowed: 1 to 64 letters, digits`, `RATE_BUDGET_default has the id "default"`}},
		{"form", map[string]string{"RATE_BUDGET_A": "0.5", "RATE_BUDGET_A_OVERRIDES": "lol=0.5,tft"}, []string{`RATE_BUDGET_A_OVERRIDES is "lol=0.5,tft" (invalid budget override "tft": want [host:]path=share`}},
		{"override's share", map[string]string{"RATE_BUDGET_A": "0.5", "RATE_BUDGET_A_OVERRIDES": "lol=2"}, []string{`RATE_BUDGET_A_OVERRIDES is "lol=2" (invalid budget override "lol=2"`}},
		{"alone", map[string]string{"RATE_BUDGET_A_OVERRIDES": "lol=0.5"}, []string{`RATE_BUDGET_A_OVERRIDES is "lol=0.5" (there is no RATE_BUDGET_A to override)`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.env["RIOT_TOKEN"] = "x"
			lines := parseError(t, world{env: tt.env})
			slices.Sort(lines)
			if len(lines) != len(tt.want) {
				t.Fatalf("%q", lines)
			}
			for i, want := range tt.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("%q, want %q", lines[i], want)
				}
			}
		})
	}
	if _, err := Parse([]string{"--rate-budget-a", "0.5"}, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}}.Env()); err == nil {
		t.Error("a flag for a budget: it would be in no help")
	}
	in := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}, files: map[string]string{".env": "RATE_BUDGE_A=0.5\nRATE_BUDGET_=1\n"}})
	if len(in.Settings.Budgets) != 0 {
		t.Errorf("%+v", in.Settings.Budgets)
	}
}
