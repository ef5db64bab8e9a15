package daemon

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"riftrelay/riotsim"
)

// Both listeners have an explorer; ENABLE_SWAGGER is about the relay's.
func TestExplorer(t *testing.T) {
	t.Parallel()
	get := func(g *rig, url string) (int, string) {
		t.Helper()
		resp, err := g.client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	g := startRig(t, riotsim.Config{}, map[string]string{"RATE_BUDGET_crawler": "0.3"})
	for url, want := range map[string]string{
		g.front + "/swagger/": "page.js", g.front + "/swagger/openapi.json": `"crawler"`, g.front + "/swagger/swagger-ui-bundle.js": "SwaggerUIBundle",
		g.admin + "/swagger/": "RiftRelay admin API", g.admin + "/swagger/openapi.json": "/api/v1/state", g.admin + "/api/v1/openapi.json": "/api/v1/reload",
	} {
		if status, body := get(g, url); status != http.StatusOK || !strings.Contains(body, want) || strings.Contains(body, canary) {
			t.Errorf("%s: %d, with %s: %v", url, status, want, strings.Contains(body, want))
		}
	}
	off := startRig(t, riotsim.Config{}, map[string]string{"ENABLE_SWAGGER": "false"})
	if status, _ := get(off, off.front+"/swagger/"); status != http.StatusNotFound {
		t.Errorf("turned off: %d", status)
	}
	if status, _ := get(off, off.admin+"/swagger/"); status != http.StatusOK {
		t.Errorf("the admin listener's: %d", status)
	}
}
