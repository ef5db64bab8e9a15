package daemon

import (
	"io"
	"net/http"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// BenchmarkWays is what a call through CONNECT and TLS costs, as a multiple of
// one by its path: with connections that are kept, and with a new one for each
// call. Both ways take turns, so that a busy machine is busy for both.
func BenchmarkWays(b *testing.B) {
	g, trusts := startTrusted(b, riotsim.Config{
		Keys: map[string]string{canary: "9000000:1"}, MethodLimits: []riotsim.Rule{{Limit: "9000000:1"}},
	}, map[string]string{"LOG_LEVEL": "error"})
	const path = "/lol/status/v4/platform-data"
	through := g.through(b, trusts)
	call := func(client *http.Client, target string, kept bool) time.Duration {
		began := time.Now()
		req, err := http.NewRequest(http.MethodGet, target, http.NoBody)
		if err != nil {
			b.Fatal(err)
		}
		req.Close = !kept
		resp, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp.Status, err)
		}
		return time.Since(began)
	}
	for name, kept := range map[string]bool{"kept": true, "new": false} {
		b.Run(name, func(b *testing.B) {
			var byPath, byConnect time.Duration
			for b.Loop() {
				byPath += call(g.client, g.front+"/euw1"+path, kept)
				byConnect += call(through, "https://"+euw1+path, kept)
			}
			b.ReportMetric(float64(byPath)/float64(b.N), "path-ns/op")
			b.ReportMetric(float64(byConnect)/float64(b.N), "connect-ns/op")
			b.ReportMetric(float64(byConnect)/float64(byPath), "connect/path")
		})
	}
}
