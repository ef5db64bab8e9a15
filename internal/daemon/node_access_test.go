package daemon

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"riftrelay/riotsim"
)

// Where clients need a token, each library gives it in the one way that it has:
// as its key. With it the library works as without, on its budget; with a key
// that is no token it is told 401, and for what it may not call 403, in Riot's
// form, once.
func TestNodeClientsWithTokens(t *testing.T) {
	node, modules := requireNode(t)
	const wide, narrow = "CANARY-token-of-wide", "CANARY-token-of-narrow"
	var all sync.WaitGroup
	defer all.Wait()
	for _, c := range nodeClients {
		all.Go(func() {
			t.Run(c.name, func(t *testing.T) {
				vars := map[string]string{
					"CLIENT_TOKENS": "wide=" + wide + ",narrow=" + narrow, "RATE_BUDGET_CRAWLER": "0.5", "CLIENT_WIDE_BUDGET": "crawler", "CLIENT_WIDE_PRIORITY": "normal",
					"CLIENT_WIDE_ALLOW":   "europe:/riot/account/v1,euw1:/lol/summoner/v4,GET euw1:/lol/league/v4,europe:/lol/match/v5",
					"CLIENT_NARROW_ALLOW": "na1:/,europe:/",
				}
				if c.trusts {
					vars["TRUST_DIR"] = filepath.Join(t.TempDir(), "trust")
				}
				g := startRig(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}, CheckIDs: true, Gzip: true, Requests: -1}, vars)
				p := startNode(t, g, node, modules, c.name, vars["TRUST_DIR"])

				for _, refused := range []struct {
					key    string
					status int
				}{{"no-token-of-anybody", 401}, {narrow, 403}} {
					p.ask(t, "key "+refused.key)
					before := g.answers(t, refused.status)
					a := p.ask(t, "league")
					if said := a.Error + string(a.Answer); a.OK != (c.name == "teemojs") || !strings.Contains(said, strconv.Itoa(refused.status)) {
						t.Errorf("with %s: %v, %s; want %d", refused.key, a.OK, said, refused.status)
					}
					if n := g.answers(t, refused.status) - before; n != 1 {
						t.Errorf("with %s: refused %d times, want once", refused.key, n)
					}
				}
				if n := len(g.edge.Requests()); n != 0 {
					t.Errorf("%d calls reached Riot", n)
				}

				p.ask(t, "key "+wide)
				p.chain(t, c.players)
				p.end(t)
				checkRecord(t, g, c.players)
				budgets := 0
				for _, scope := range g.limiter.Snapshot().Scopes {
					for _, b := range scope.Budgets {
						if budgets++; b.Name != "crawler" {
							t.Errorf("%s: calls on the budget %q", scope.Host, b.Name)
						}
					}
				}
				if budgets == 0 {
					t.Error("no calls on a budget")
				}
				metrics := g.get(g.admin + "/metrics").body
				for _, want := range []string{
					fmt.Sprintf(`riftrelay_client_requests_total{client="wide",code="200"} %d`, len(g.edge.Requests())), `riftrelay_client_requests_total{client="narrow",code="403"} 1`,
				} {
					if !strings.Contains(metrics, want) {
						t.Errorf("metrics lack %s", want)
					}
				}
				for what, said := range map[string]string{"log": g.log.String(), "metrics": metrics, "state": g.get(g.admin + "/api/v1/state").body} {
					if strings.Contains(said, "CANARY") || strings.Contains(said, "no-token-of-anybody") {
						t.Errorf("a token shows in the %s", what)
					}
				}
				for _, r := range g.edge.Requests() {
					if text := r.URI + fmt.Sprint(r.Header); strings.Contains(text, "CANARY-token") || !slices.Equal(r.Header["X-Riot-Token"], []string{canary}) {
						t.Errorf("Riot saw %s", text)
					}
				}
			})
		})
	}
}
