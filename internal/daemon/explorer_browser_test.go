package daemon

import (
	"os"
	"testing"
	"time"

	"riftrelay/internal/dashboard/browsertest"
	"riftrelay/riotsim"
)

// "Try it" in a real browser: through a relay that wants a token, to a simulated
// Riot. PAGE_SHOTS names a directory for screenshots.
func TestExplorerInABrowser(t *testing.T) {
	g := startRig(t, riotsim.Config{Keys: map[string]string{canary: "100:600"}, Requests: -1}, map[string]string{
		"CLIENT_TOKENS": "web=" + webToken, "RATE_BUDGET_crawler": "0.3",
	})
	t.Log(browsertest.Run(t, "explorer.mjs", 2*time.Minute, "RELAY_FRONT="+g.front, "TOKEN="+webToken, "SHOTS="+os.Getenv("PAGE_SHOTS")))
	if seen := g.edge.Report(); seen.Accepted != 2 {
		t.Errorf("Riot accepted %d calls, want 2: those that had the token", seen.Accepted)
	}
}
