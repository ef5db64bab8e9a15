package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"riftrelay/riotsim"
)

// Every configuration that starts the relay's first version starts this one. A line of the log tells each value that isn't
// used as it stands.
func TestSettingsOfTheFirstVersionStart(t *testing.T) {
	_, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}})
	const longMargin = "1m is used" // the first call waits for so long
	for _, tt := range []struct {
		set  string
		says string
	}{
		{"ADDITIONAL_WINDOW_SIZE=0", `MARGIN is \"0\": 1ms is used`},
		{"ADDITIONAL_WINDOW_SIZE=0s", "1ms is used"},
		{"ADDITIONAL_WINDOW_SIZE=500us", "1ms is used"},
		{"ADDITIONAL_WINDOW_SIZE=999999h", longMargin},
		{"ADMISSION_TIMEOUT=240h", "168h is used"},
		{"SHUTDOWN_TIMEOUT=240h", "168h is used"},
		{"UPSTREAM_TIMEOUT=240h", "168h is used"},
		{"QUEUE_CAPACITY=9223372036854775807", "10000000 is used"},
		{"RIOT_TOKEN=" + canary + ",", "part 1 is empty"},
		{"RIOT_TOKEN=," + canary, "part 0 is empty"},
		{"RIOT_TOKEN=" + canary + ", " + canary, "key 1 is the same as key 0 and is used once"},
		{"DEFAULT_APP_RATE_LIMIT= 20 : 1 , 90:120 , 100:120", "20:1,90:120 is used"},
		{"DEFAULT_APP_RATE_LIMIT=99999999999:1,+100:120", "1000000000:1,100:120 is used"},
		{"RATE_BUDGET_worker_OVERRIDES=lol/nothing/v1/here=0.1,", "is not used: there is no method"},
		{"RATE_BUDGET_worker_OVERRIDES=xx9:lol/match/v5/matches/{matchId}=0.1", "is not used: there is no host"},
		{"RATE_BUDGET_worker:lol/nothing/v1/here=0.6", "is not used: there is no method"},
		{"RATE_BUDGET_worker_OVERRIDES=lol/match/v5/matches/{matchId}=0.1,lol/match/v5/matches/{matchId}=0.2", "set twice, and 0.2 is used"},
		// These are used as they stand.
		{"RATE_BUDGET_worker:lol/match/v5/matches/{matchId}=0.6", ""},
		{"RATE_BUDGET_Worker=0.5", ""},
		{"DEFAULT_APP_RATE_LIMIT=20:1,100:120,", ""},
		{"UPSTREAM_TIMEOUT=0", ""},
		{"ADMISSION_TIMEOUT=0", ""},
		{"SHUTDOWN_TIMEOUT=0", ""},
		{"ENABLE_METRICS=T", ""},
		{"ENABLE_SWAGGER=0", ""},
		{"COMPOSE_PROFILES=true", ""},
		{"RIFTRELAY_IMAGE=some/image:latest", ""},
	} {
		t.Run(strings.ReplaceAll(tt.set, canary, "key"), func(t *testing.T) {
			t.Parallel()
			p := startProcess(t, t.TempDir(), "RIOT_TOKEN="+canary, "UPSTREAM_URL="+upstream, "ADMIN_ADDR=off", "RATE_BUDGET_worker=0.8", tt.set)
			path, want := status, http.StatusOK
			if tt.says == longMargin {
				path, want = "/healthz", http.StatusNoContent
			}
			if got := oldCall(p.front, "GET "+path, nil, ""); got.status != want {
				t.Errorf("a call: %d %s %v", got.status, got.body, got.err)
			}
			p.stop(t)
			warned := strings.Count(p.log.String(), `"level":"WARN"`)
			if !strings.Contains(p.log.String(), tt.says) || (warned > 0) != (tt.says != "") {
				t.Errorf("%d warnings, want %q:\n%s", warned, tt.says, p.log.String())
			}
		})
	}
}

// admitted makes calls one after the other, each now or never, and returns how many were sent.
func admitted(t *testing.T, p *process, calls int, path string, header ...string) (n int) {
	t.Helper()
	for range calls {
		got := oldCall(p.front, "GET "+path, append(header, "X-Max-Wait: 0"), "")
		switch got.status {
		case http.StatusOK:
			n++
		case http.StatusTooManyRequests:
		default:
			t.Fatalf("%s %s: %d %s %v", path, header, got.status, got.body, got.err)
		}
	}
	return n
}

// Budgets hold what the first version's documentation says of them: an override for one endpoint, ids that differ by case,
// and X-Priority: high, which a hard budget bounds.
func TestBudgetsOfTheFirstVersionOnTheProgram(t *testing.T) {
	_, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{canary: "20:600"}})
	p := startProcess(t, t.TempDir(), "RIOT_TOKEN="+canary, "UPSTREAM_URL="+upstream, "ADMIN_ADDR=off", "PACING=burst",
		"RATE_BUDGET_worker=0.2", "RATE_BUDGET_worker:lol/status/v4/platform-data=0.6", "RATE_BUDGET_WORKER=0.5", "RATE_BUDGET_hard=0.2", "HARD_BUDGETS=hard")
	const status, rotations = "/lol/status/v4/platform-data", "/lol/platform/v3/champion-rotations"
	for i, tt := range []struct {
		path        string
		header      []string
		least, most int
	}{
		{rotations, []string{"X-Rate-Budget: worker"}, 4, 4},
		{status, []string{"X-Rate-Budget: worker"}, 12, 12},
		{rotations, []string{"X-Rate-Budget: WORKER"}, 10, 10},
		{rotations, []string{"X-Rate-Budget: worker", "X-Priority: high"}, 17, 19},
		{rotations, []string{"X-Rate-Budget: hard"}, 4, 4},
		{rotations, []string{"X-Rate-Budget: hard", "X-Priority: high"}, 4, 4},
		{rotations, nil, 19, 19},
	} {
		host := []string{"euw1", "kr", "na1", "br1", "jp1", "ru", "tr1"}[i]
		if got := oldCall(p.front, "GET /"+host+rotations, nil, ""); got.status != http.StatusOK { // learns the limit
			t.Fatalf("%s: %d %s %v", host, got.status, got.body, got.err)
		}
		if n := admitted(t, p, 25, fmt.Sprint("/", host, tt.path), tt.header...); n < tt.least || n > tt.most {
			t.Errorf("%s %q: %d of 20 calls, want %d to %d", tt.path, tt.header, n, tt.least, tt.most)
		}
	}
	p.stop(t)
}
