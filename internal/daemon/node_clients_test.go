package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// The clients of npm that people use, as they are, through a relay:
//
//	npm ci --ignore-scripts --prefix examples/node
//
// Without node or what that installs the tests are skipped, and say so; RIFTRELAY_REQUIRE=all makes that a failure.
const nodeModules = "../../examples/node/node_modules"

// requireTool returns a program's path.
func requireTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		lacks(t, name+" in PATH")
	}
	return path
}

// requireNode returns node's path, and the absolute one of the modules.
func requireNode(t *testing.T) (node, modules string) {
	t.Helper()
	node = requireTool(t, "node")
	modules, err := filepath.Abs(nodeModules)
	if err != nil {
		t.Fatal(err)
	}
	// npm writes this file last.
	if _, err := os.Stat(filepath.Join(modules, ".package-lock.json")); err != nil {
		lacks(t, "examples/node/node_modules (npm ci --ignore-scripts --prefix examples/node)")
	}
	// galeforce's install script would fetch a certificate for the game client's API, which it reads and which is not used here.
	pem := filepath.Join(modules, "galeforce", "resource", "riotgames.pem")
	if err := os.MkdirAll(filepath.Dir(pem), 0o755); err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile(pem, os.O_CREATE, 0o644); err != nil {
		t.Fatal(err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return node, modules
}

// lacks ends a test that can't run on this machine.
func lacks(t *testing.T, what string) {
	t.Helper()
	none := "there is no " + what + ": it is not tested here"
	if os.Getenv("RIFTRELAY_REQUIRE") == "all" {
		t.Fatal(none)
	}
	t.Skip(none)
}

// riotID is a player, and how the path to it must arrive at Riot.
type riotID struct{ name, tag, path string }

var (
	spaces  = riotID{"Hide on bush", "KR1", "Hide%20on%20bush/KR1"}
	letters = riotID{"롤 잘하는 아재", "한국", "%EB%A1%A4%20%EC%9E%98%ED%95%98%EB%8A%94%20%EC%95%84%EC%9E%AC/%ED%95%9C%EA%B5%AD"}
	marks   = riotID{"Ünï/c?d% e+f#g", "a&b", "%C3%9Cn%C3%AF%2Fc%3Fd%25%20e%2Bf%23g/a%26b"}
)

// nodeClients are the libraries. Each has an adapter in testdata/clients.
var nodeClients = []struct {
	name    string
	trusts  bool // speaks TLS with the relay
	players []riotID
	// gives is what a caller gets whose call meets a full queue; "" = an answer, since the library waits as long as Retry-After says.
	gives string
	most  int // 429s that it may meet by then
}{
	{"twisted", false, []riotID{spaces, letters}, "", 3}, // it leaves ?, # and / in names as they are
	{"teemojs", false, []riotID{spaces, letters, marks}, "Failed after 3 retries with code 429", 4},
	{"kayn", false, []riotID{spaces, letters, marks}, "", 1000}, // its limiter and the next one forget to wait, also for 429s of Riot's
	{"riot-ratelimiter", false, []riotID{spaces, letters, marks}, "", 1000},
	{"riftjs-axios-1.16.0", false, []riotID{spaces, letters}, "API error 429: ", 1}, // it cuts names at #
	{"riftjs", true, []riotID{spaces, letters}, "API error 429: ", 1},
	{"galeforce", true, []riotID{spaces, letters, marks}, "", 2},
	{"fightmegg", true, []riotID{spaces, letters, marks}, "", 2},
}

// Each client, with its own key, goes from a Riot ID to two matches. 429s of
// Riot's in between are waited for by the relay, and a full queue is told in a
// way that the client understands. The edge's raw record is the judge.
func TestNodeClients(t *testing.T) {
	node, modules := requireNode(t)
	var all sync.WaitGroup
	defer all.Wait()
	for _, c := range nodeClients {
		// At the same time, since they mostly wait, and more than t.Parallel would.
		all.Go(func() {
			t.Run(c.name, func(t *testing.T) {
				vars := map[string]string{"QUEUE_CAPACITY": "1"}
				if c.trusts {
					vars["TRUST_DIR"] = filepath.Join(t.TempDir(), "trust")
				}
				const wait = time.Second
				g := startRig(t, riotsim.Config{
					Keys: map[string]string{canary: riotsim.Production}, CheckIDs: true, Gzip: true, Noise: true, Requests: -1, MatchBytes: 20_000,
					Faults: []riotsim.Fault{
						{Host: "euw1", Method: "summoner-v4", Kind: riotsim.Method, Wait: wait, Times: 1},
						{Host: "europe", Method: "match-v5", Kind: riotsim.Application, Wait: wait, Times: 1},
					},
				}, vars)
				p := startNode(t, g, node, modules, c.name, vars["TRUST_DIR"])

				p.chain(t, c.players)
				if totals := g.edge.Report().Totals; totals.Rejected.Total() != 2 || totals.Violations != 0 || totals.Refused != 0 {
					t.Errorf("at Riot: %+v; want the two 429s of the script, nothing refused, nothing of our own making", totals)
				}
				if n := g.refusals(t); n != 0 {
					t.Errorf("the client met %d 429s", n)
				}

				var a told
				met := 0
				for try := 0; met == 0 && try < 3; try++ { // on a slow machine the queue can be empty again before the client asks
					before := g.refusals(t)
					empty := g.fillQueue(t)
					a = p.ask(t, "league")
					others := empty()
					met = g.refusals(t) - before - others
				}
				if met < 1 || met > c.most {
					t.Errorf("met a full queue %d times, want 1 to %d", met, c.most)
				}
				if a.OK != (c.gives == "") || !strings.Contains(a.Error, c.gives) {
					t.Errorf("a full queue gives %+v, want %q", a, c.gives)
				}
				if a := p.ask(t, "league"); !a.OK {
					t.Errorf("after a full queue: %+v", a)
				}
				p.end(t)
				checkRecord(t, g, c.players)
				if totals := g.edge.Report().Totals; totals.Violations != 0 || totals.Refused != 0 {
					t.Errorf("at Riot: %+v", totals)
				}
			})
		})
	}
}

// checkRecord reads what arrived at Riot.
func checkRecord(t *testing.T, g *rig, players []riotID) {
	t.Helper()
	var accounts []string
	for _, r := range g.edge.Requests() {
		if !slices.Equal(r.Header["X-Riot-Token"], []string{canary}) || strings.Contains(r.URI+fmt.Sprint(r.Header), "client-key") || strings.Contains(r.URI, "api_key") {
			t.Errorf("a client's key at Riot: %s %v", r.URI, r.Header)
		}
		if path, ok := strings.CutPrefix(r.URI, "/riot/account/v1/accounts/by-riot-id/"); ok {
			accounts = append(accounts, path)
			if r.Host != "europe.api.riotgames.com" {
				t.Errorf("%s at %s", r.URI, r.Host)
			}
		}
	}
	var want []string
	for _, p := range players {
		want = append(want, p.path)
	}
	if !slices.Equal(accounts, want) {
		t.Errorf("Riot saw the accounts\n%q, want\n%q", accounts, want)
	}
	if strings.Contains(g.log.String(), "client-key") {
		t.Error("the log has a client's key")
	}
}

// refusals counts the relay's own 429s.
func (g *rig) refusals(t *testing.T) int {
	t.Helper()
	return g.answers(t, 429)
}

// answers counts what clients got with a status.
func (g *rig) answers(t *testing.T, status int) (n int) {
	t.Helper()
	code := fmt.Sprintf(`code="%d"`, status)
	for line := range strings.Lines(g.get(g.admin + "/metrics").body) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if strings.HasPrefix(name, "riftrelay_http_requests_total{") && strings.Contains(name, code) {
			c, err := strconv.Atoi(count)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			n += c
		}
	}
	return n
}

// fillQueue has calls like the client's last for a league wait until their queue, which has one place, takes no more.
// The function returned waits until all are answered, and says how many of them were refused.
func (g *rig) fillQueue(t *testing.T) (empty func() int) {
	t.Helper()
	var path string
	for _, r := range g.edge.Requests() {
		if strings.HasPrefix(r.URI, "/lol/league/") {
			path = r.URI
		}
	}
	if err := g.edge.Inject(riotsim.Fault{Host: "euw1", Method: "league-v4", Kind: riotsim.Service, Wait: 4 * time.Second, Times: 1}); err != nil {
		t.Fatal(err)
	}
	injected, refused := g.edge.Report().Totals.Injected, g.refusals(t)
	var calls sync.WaitGroup
	var turned atomic.Int64
	call := func() {
		calls.Go(func() {
			if g.get(g.front+"/euw1"+path).status == 429 {
				turned.Add(1)
			}
		})
	}
	call()
	eventually(t, "a 429 of Riot's", func() bool { return g.edge.Report().Totals.Injected > injected })
	eventually(t, "a full queue", func() bool {
		call() // until the relay has that 429, it goes through
		time.Sleep(20 * time.Millisecond)
		return g.refusals(t) > refused
	})
	return func() int { calls.Wait(); return int(turned.Load()) }
}
