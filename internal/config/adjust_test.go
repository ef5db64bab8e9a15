package config

import (
	"slices"
	"strings"
	"testing"

	"riftrelay"
)

// Whatever starts the relay's first version starts this one, with a warning where a value isn't used as it stands.
func TestWhatTheFirstVersionAccepts(t *testing.T) {
	for name, tt := range map[string]struct {
		set, to string
		want    string // in force
		warning string
	}{
		"no margin":        {"ADDITIONAL_WINDOW_SIZE", "0", "1ms", `MARGIN is "0": 1ms is used`},
		"none in seconds":  {"ADDITIONAL_WINDOW_SIZE", "0s", "1ms", `1ms is used`},
		"a short margin":   {"ADDITIONAL_WINDOW_SIZE", "500us", "1ms", `1ms is used`},
		"a long margin":    {"ADDITIONAL_WINDOW_SIZE", "2h", "1m", `1m is used`},
		"a long wait":      {"ADMISSION_TIMEOUT", "240h", "168h", `168h is used`},
		"a long stop":      {"SHUTDOWN_TIMEOUT", "240h", "168h", `168h is used`},
		"a long call":      {"UPSTREAM_TIMEOUT", "240h", "168h", `168h is used`},
		"a long queue":     {"QUEUE_CAPACITY", "9223372036854775807", "10000000", `10000000 is used`},
		"a trailing comma": {"RIOT_TOKEN", "RGAPI-a, RGAPI-b,", "key0=(hidden),key1=(hidden)", "part 2 is empty"},
		"a key twice":      {"RIOT_TOKEN", "RGAPI-a,RGAPI-b,RGAPI-a", "key0=(hidden),key1=(hidden)", "key 2 is the same as key 0"},
		"a window twice":   {"DEFAULT_APP_RATE_LIMIT", "100:120,20:1,90:120", "90:120,20:1", "90:120,20:1 is used"},
		"many calls":       {"DEFAULT_APP_RATE_LIMIT", "99999999999:1", "1000000000:1", "1000000000:1 is used"},
		"a long window":    {"DEFAULT_APP_RATE_LIMIT", "+5:9223372036854775807", "5:604800", "5:604800 is used"},
		"many windows":     {"DEFAULT_APP_RATE_LIMIT", "1:1,1:2,1:3,1:4,1:5,1:6,1:7,1:8,1:9,1:10,1:11,1:12,1:13,1:14,1:15,1:16,1:17", "1:1,1:2,1:3,1:4,1:5,1:6,1:7,1:8,1:9,1:10,1:11,1:12,1:13,1:14,1:15,1:16", "1:16 is used"},
		"no limits":        {"DEFAULT_APP_RATE_LIMIT", ",", "20:1,100:120", "20:1,100:120 is used"},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"RIOT_TOKEN": "RGAPI-x"}
			env[tt.set] = tt.to
			in := mustParse(t, world{env: env})
			if !strings.Contains(strings.Join(in.Warnings, "\n"), tt.warning) {
				t.Errorf("warnings %q, want %q", in.Warnings, tt.warning)
			}
			for _, e := range in.Settings.Effective() {
				if e.Name == tt.set && e.Value != tt.want {
					t.Errorf("%s is %q, want %q", e.Name, e.Value, tt.want)
				}
			}
		})
	}
}

func TestBudgetsOfTheFirstVersion(t *testing.T) {
	in := mustParse(t, world{env: map[string]string{
		"RIOT_TOKEN": "RGAPI-x", "RATE_BUDGET_Worker": "0.5", "RATE_BUDGET_worker": "0.8",
		"RATE_BUDGET_worker:lol/match/v5/matches/{matchId}":        "0.6",
		"RATE_BUDGET_worker:europe:lol/match/v5/matches/{matchId}": "0.4",
		"RATE_BUDGET_Worker_OVERRIDES":                             "lol/nothing/v1/here=0.1,xx9:lol/match=0.2,lol/match/v5=0.1,lol/clash/v1/teams/{id}=0.3,lol/clash/v1/teams/{id}=0.4",
	}})
	want := []riftrelay.Budget{
		{Name: "Worker", Share: 0.5, Overrides: []riftrelay.ShareOverride{{Path: "/lol/clash/v1/teams/{id}", Share: 0.4}}},
		{Name: "worker", Share: 0.8, Overrides: []riftrelay.ShareOverride{
			{Host: "europe", Path: "/lol/match/v5/matches/{matchId}", Share: 0.4}, {Path: "/lol/match/v5/matches/{matchId}", Share: 0.6},
		}},
	}
	for i, b := range in.Settings.Budgets {
		if i >= len(want) || b.Name != want[i].Name || b.Share != want[i].Share || !slices.Equal(b.Overrides, want[i].Overrides) {
			t.Errorf("budget %d: %+v, want %+v", i, b, want)
		}
	}
	warnings := strings.Join(in.Warnings, "\n")
	for _, w := range []string{`no method "/lol/nothing/v1/here"`, `no host "xx9"`, `no method "/lol/match/v5"; for all methods below that path, set BUDGET_OVERRIDES=below`, `the share of /lol/clash/v1/teams/{id} is set twice, and 0.4 is used`} {
		if !strings.Contains(warnings, w) {
			t.Errorf("no %q in %q", w, in.Warnings)
		}
	}
	l, err := riftrelay.New(in.Settings.Limiter())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// The first version had its metrics on its one port.
func TestEnableMetricsIsForTheRelaysPort(t *testing.T) {
	for _, tt := range []struct {
		enable, relay string
		want          bool
	}{{"", "", false}, {"true", "", true}, {"false", "", false}, {"true", "false", false}, {"", "true", true}} {
		in := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x", "ENABLE_METRICS": tt.enable, "METRICS_ON_RELAY": tt.relay}})
		if in.Settings.MetricsOnRelay != tt.want {
			t.Errorf("%+v: %v", tt, in.Settings.MetricsOnRelay)
		}
	}
}

func TestProxyOfTheEnvironment(t *testing.T) {
	for name, tt := range map[string]struct {
		env  map[string]string
		used bool
	}{
		"HTTPS_PROXY":           {map[string]string{"HTTPS_PROXY": "http://user:CANARY@proxy:3128"}, true},
		"in lower case":         {map[string]string{"https_proxy": "proxy:3128"}, true},
		"not for Riot":          {map[string]string{"HTTPS_PROXY": "http://proxy:3128", "no_proxy": ".riotgames.com"}, false},
		"but for one":           {map[string]string{"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "kr.api.riotgames.com"}, true},
		"one of our own before": {map[string]string{"HTTPS_PROXY": "http://proxy:3128", "UPSTREAM_PROXY": "http://other:1"}, false},
		"off":                   {map[string]string{"HTTPS_PROXY": "http://proxy:3128", "UPSTREAM_PROXY": "off"}, false},
		"http only":             {map[string]string{"HTTP_PROXY": "http://proxy:3128"}, false},
		"to plain http":         {map[string]string{"HTTPS_PROXY": "http://proxy:3128", "UPSTREAM_URL": "http://riot.example"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tt.env["RIOT_TOKEN"] = "RGAPI-x"
			in := mustParse(t, world{env: tt.env})
			if (in.Settings.ProxyOf != nil) != tt.used {
				t.Errorf("used: %v", in.Settings.ProxyOf != nil)
			}
			warnings := strings.Join(in.Warnings, "\n")
			if strings.Contains(warnings, "go through HTTPS_PROXY") != tt.used || strings.Contains(warnings, "CANARY") {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}
