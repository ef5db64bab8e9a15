package riotsim

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What real responses looked like, and the configuration that makes the edge say the same. calls are made before the one
// that is looked at, all at once unless spread.
func TestAnswersSeenInReality(t *testing.T) {
	const (
		bySummoner = "/lol/summoner/v4/summoners/by-puuid/{encryptedPUUID}"
		limited    = `{"status":{"message":"Rate limit exceeded","status_code":429}}`
	)
	for _, tc := range []struct {
		name   string
		cfg    Config
		method string // default: the summoner's
		host   string // default: euw1
		calls  int
		rest   time.Duration // between the earlier calls and the last
		status int
		want   string // rate headers of the answer, in the order of writeHeader
		body   string // default: any
	}{
		{name: "ok_2023_order", cfg: Config{Order: Ascending}, calls: 2, rest: 2 * time.Second, status: 200,
			want: "X-App-Rate-Limit: 20:1,100:120; X-App-Rate-Limit-Count: 1:1,3:120; X-Method-Rate-Limit: 2000:60; X-Method-Rate-Limit-Count: 3:60"},
		{name: "ok_2026_order", host: "la1", calls: 2, rest: 61 * time.Second, status: 200,
			want: "X-App-Rate-Limit: 100:120,20:1; X-App-Rate-Limit-Count: 3:120,1:1; X-Method-Rate-Limit: 1000:60; X-Method-Rate-Limit-Count: 1:60"},
		{name: "ok_big_key", cfg: Config{Keys: map[string]string{"k": Production}}, method: status, calls: 6, status: 200,
			want: "X-App-Rate-Limit: 30000:600,500:10; X-App-Rate-Limit-Count: 7:600,7:10; X-Method-Rate-Limit: 1200000:600,20000:10; X-Method-Rate-Limit-Count: 7:600,7:10"},
		{name: "ok_four_windows", cfg: Config{Order: Ascending, MethodLimits: []Rule{{Limit: NoLimit}}, Keys: map[string]string{"k": "100:1,1000:10,60000:600,360000:3600"}},
			calls: 1, rest: time.Second, status: 200,
			want: "X-App-Rate-Limit: 100:1,1000:10,60000:600,360000:3600; X-App-Rate-Limit-Count: 1:1,2:10,2:600,2:3600"},
		{name: "ok_counts_missing", cfg: Config{Order: Ascending, Counts: ShortestCount, MethodLimits: []Rule{{Limit: NoLimit}}}, calls: 4, status: 200,
			want: "X-App-Rate-Limit: 20:1,100:120; X-App-Rate-Limit-Count: 5:1"},
		{name: "ok_rso", cfg: Config{Order: Ascending}, method: rso, host: "europe", status: 200,
			want: "X-Method-Rate-Limit: 20000:10,1200000:600; X-Method-Rate-Limit-Count: 1:10,1:600"},
		{name: "not_found_counts", cfg: Config{Order: Ascending, Faults: []Fault{{Status: 404}}}, host: "la1", status: 404,
			want: "X-App-Rate-Limit: 20:1,100:120; X-App-Rate-Limit-Count: 1:1,1:120; X-Method-Rate-Limit: 1000:60; X-Method-Rate-Limit-Count: 1:60",
			body: `{"status":{"message":"Data not found","status_code":404}}`},
		{name: "unavailable_counts", cfg: Config{Order: Ascending, Faults: []Fault{{Status: 503}}, MethodLimits: []Rule{{Limit: "10:10,500:600"}}}, calls: 1, rest: time.Second, status: 503,
			want: "X-App-Rate-Limit: 20:1,100:120; X-App-Rate-Limit-Count: 1:1,2:120; X-Method-Rate-Limit: 10:10,500:600; X-Method-Rate-Limit-Count: 2:10,2:600",
			body: `{"status":{"message":"Service unavailable","status_code":503}}`},
		{name: "app_429", cfg: Config{Order: Ascending}, calls: 20, status: 429,
			want: "X-App-Rate-Limit: 20:1,100:120; X-App-Rate-Limit-Count: 21:1,21:120; X-Method-Rate-Limit: 2000:60; X-Method-Rate-Limit-Count: 21:60; X-Rate-Limit-Type: application; Retry-After: 1",
			body: limited},
		{name: "app_429_far_over", cfg: Config{MethodLimits: []Rule{{Limit: NoLimit}}}, calls: 112, rest: 24 * time.Second, status: 429,
			want: "X-App-Rate-Limit: 100:120,20:1; X-App-Rate-Limit-Count: 113:120,1:1; X-Rate-Limit-Type: application; Retry-After: 96", body: limited},
		{name: "app_429_no_wait", cfg: Config{MethodLimits: []Rule{{Limit: NoLimit}}, RetryAfter: RetryMissing}, calls: 100, rest: time.Second, status: 429,
			want: "X-App-Rate-Limit: 100:120,20:1; X-App-Rate-Limit-Count: 101:120,1:1; X-Rate-Limit-Type: application", body: limited},
		{name: "method_429_zero", cfg: Config{Order: Ascending, RetryAfter: RetryZero, AppLimits: []Rule{{Limit: NoLimit}}}, method: challenger, calls: 30, status: 429,
			want: "X-Method-Rate-Limit: 30:10,500:600; X-Method-Rate-Limit-Count: 31:10,31:600; X-Rate-Limit-Type: method; Retry-After: 0", body: limited},
		{name: "method_429_date", cfg: Config{Faults: []Fault{{Kind: Method, Bare: true, RetryAfter: RetryDate, Wait: 30 * time.Second}}}, status: 429,
			want: "X-Rate-Limit-Type: method; Retry-After: Sat, 01 Jan 2000 00:00:30 GMT", body: limited},
		{name: "service_429", cfg: Config{Keys: map[string]string{"k": Large}, Order: Ascending, Faults: []Fault{{Kind: Service}}}, calls: 3, status: 429,
			want: "X-App-Rate-Limit: 3000:10,180000:600; X-App-Rate-Limit-Count: 4:10,4:600; X-Method-Rate-Limit: 2000:60; X-Method-Rate-Limit-Count: 4:60; X-Rate-Limit-Type: service; Retry-After: 3",
			body: `{"status":{"message":"Service rate limit exceeded","status_code":429}}`},
		{name: "server_429", cfg: Config{Faults: []Fault{{Kind: Server, Wait: 21 * time.Second}}}, calls: 3, status: 429,
			want: "X-Rate-Limit-Type: server; Retry-After: 21", body: `{"status":{"message":"server rate limit exceeded","status_code":429}}`},
		{name: "underlying_429", cfg: Config{Faults: []Fault{{Kind: Untyped}}, MethodLimits: []Rule{{Limit: "2000:10"}}}, calls: 1, rest: time.Second, status: 429,
			want: "X-App-Rate-Limit: 100:120,20:1; X-App-Rate-Limit-Count: 2:120,1:1; X-Method-Rate-Limit: 2000:10; X-Method-Rate-Limit-Count: 2:10", body: limited},
		{name: "untyped_429_room", cfg: Config{MethodLimits: []Rule{{Limit: NoLimit}}, Faults: []Fault{{Kind: Untyped, Wait: 5 * time.Second}}}, calls: 11, rest: time.Second, status: 429,
			want: "X-App-Rate-Limit: 100:120,20:1; X-App-Rate-Limit-Count: 12:120,1:1; Retry-After: 5"},
		{name: "untyped_429_full", status: 429, cfg: Config{Faults: []Fault{{Kind: Untyped, Wait: 40 * time.Second, Header: http.Header{"X-App-Rate-Limit-Count": {"101:120,3:1"}}}},
			MethodLimits: []Rule{{Limit: NoLimit}}}, want: "X-App-Rate-Limit: 100:120,20:1; X-App-Rate-Limit-Count: 101:120,3:1; Retry-After: 40"},
		{name: "key_unknown", cfg: Config{Keys: map[string]string{}}, status: 401, body: `{"status":{"message":"Unknown apikey","status_code":401}}`},
		{name: "key_forbidden", cfg: Config{Faults: []Fault{{Status: 403}}}, status: 403, body: `{"status":{"message":"Forbidden","status_code":403}}`},
		{name: "bad_gateway", cfg: Config{Faults: []Fault{{Gateway: true}}}, status: 502},
		{name: "waf_403", cfg: Config{Faults: []Fault{{Gateway: true, Status: 403}}}, status: 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEdge(t, tc.cfg)
				c := &http.Client{Transport: e.RoundTripper()}
				host, label := tc.host, tc.method
				if host == "" {
					host = "euw1"
				}
				if label == "" {
					label = bySummoner
				}
				url := "http://" + host + riotDomain + strings.NewReplacer("{encryptedPUUID}", "abc", "{queue}", "RANKED_SOLO_5x5").Replace(label)
				for range tc.calls {
					get(t, c, request(t, t.Context(), url, "Authorization", "Bearer x"))
				}
				time.Sleep(tc.rest)
				code, h, body, err := get(t, c, request(t, t.Context(), url, "Authorization", "Bearer x"))
				var lines []string
				for _, name := range []string{"X-App-Rate-Limit", "X-App-Rate-Limit-Count", "X-Method-Rate-Limit", "X-Method-Rate-Limit-Count", "X-Rate-Limit-Type", "Retry-After"} {
					for _, v := range h[name] {
						lines = append(lines, fmt.Sprintf("%s: %s", name, v))
					}
				}
				if got := strings.Join(lines, "; "); err != nil || code != tc.status || got != tc.want {
					t.Errorf("got  %d %s %v\nwant %d %s", code, got, err, tc.status, tc.want)
				}
				if tc.body != "" && body != tc.body {
					t.Errorf("body %s, want %s", body, tc.body)
				}
			})
		})
	}
}
