package riotsim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"riftrelay/riotsim"
)

const testKey = "RGAPI-example-0001"

// level is the program that the examples test: it asks Riot for a player's level, and again when it is told to wait.
func level(client *http.Client, riot, puuid string, sleep func(time.Duration)) (int, error) {
	for tries := 1; ; tries++ {
		level, wait, err := ask(client, riot+"/lol/summoner/v4/summoners/by-puuid/"+puuid)
		if wait == 0 || tries == 3 {
			return level, err
		}
		sleep(wait)
	}
}

// ask makes one call. A wait that isn't 0 is that after a 429.
func ask(client *http.Client, url string) (level int, wait time.Duration, err error) {
	req, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("X-Riot-Token", testKey)
	resp, err := client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusTooManyRequests {
		wait = time.Second
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
			wait = time.Duration(seconds) * time.Second
		}
	}
	if resp.StatusCode != http.StatusOK {
		return 0, wait, fmt.Errorf("riot says %s", resp.Status)
	}
	var player struct{ SummonerLevel int }
	err = json.NewDecoder(resp.Body).Decode(&player)
	return player.SummonerLevel, 0, err
}

// printer stands for a test's *testing.T, which examples don't have: it prints what fails.
type printer struct{ cleanups []func() }

func (*printer) Helper()                           {}
func (*printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (*printer) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (p *printer) Cleanup(f func())                { p.cleanups = append(p.cleanups, f) }
func (p *printer) end() {
	for _, f := range p.cleanups {
		f()
	}
}

// Count the calls of a program that is told where Riot is. In a test, t is its *testing.T.
func ExampleNewServer() {
	t := &printer{}
	defer t.end()

	srv := riotsim.NewServer(t, riotsim.DevKey)
	for range 3 {
		if _, err := level(http.DefaultClient, srv.URL()+"/euw1", "p", time.Sleep); err != nil {
			fmt.Println(err)
		}
	}
	srv.AssertCalls(t, "euw1", "summoner-v4", 3)
	srv.AssertNoViolations(t)

	fmt.Println(srv.Requests()[0].URI)
	// Output:
	// /euw1/lol/summoner/v4/summoners/by-puuid/p
}

// A program that knows only Riot's own address needs the server's client.
func ExampleTestServer_Client() {
	t := &printer{}
	defer t.end()

	srv := riotsim.NewServer(t, riotsim.AppLimit("5:1"))
	_, err := level(srv.Client(), "https://euw1.api.riotgames.com", "missing-player", time.Sleep)
	fmt.Println(err)
	// Output:
	// riot says 404 Not Found
}

// A 429 that no limit is the reason of: does the program wait and try again?
func ExampleTestServer_Script() {
	t := &printer{}
	defer t.end()

	srv := riotsim.NewServer(t, riotsim.DevKey)
	srv.Script("euw1", "summoner-v4",
		riotsim.RateLimited(riotsim.Service, 2*time.Second),
		riotsim.JSON(`{"summonerLevel":30}`))

	sleep := func(d time.Duration) { fmt.Println("waits", d) }
	fmt.Println(level(srv.Client(), "https://euw1.api.riotgames.com", "p", sleep))
	srv.AssertCalls(t, "euw1", "summoner-v4", 2)
	// Output:
	// waits 2s
	// 30 <nil>
}

// Riot changes limits without notice (R6): does the program notice?
func ExampleEdge_SetAppLimit() {
	t := &printer{}
	defer t.end()

	srv := riotsim.NewServer(t, riotsim.AppLimit("10:600"))
	show := func() {
		req, _ := http.NewRequest(http.MethodGet, "https://euw1.api.riotgames.com/lol/status/v4/platform-data", http.NoBody)
		req.Header.Set("X-Riot-Token", testKey)
		resp, err := srv.Client().Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		fmt.Println(resp.StatusCode, resp.Header.Get("X-App-Rate-Limit"), resp.Header.Get("X-App-Rate-Limit-Count"))
	}
	show()
	if err := srv.SetAppLimit("", "euw1", "3:600"); err != nil {
		t.Fatalf("%v", err)
	}
	show()
	srv.UseElsewhere(testKey, "euw1", "lol-status-v4", 1) // another program with the same key
	show()
	// Output:
	// 200 10:600 1:600
	// 200 3:600 2:600
	// 429 3:600 4:600
}

// An edge without a test: any http.Handler, listener or transport of your own.
func ExampleNew() {
	edge, err := riotsim.New(riotsim.Config{
		Keys:         map[string]string{testKey: "3:600"},
		MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := http.Client{Transport: edge.RoundTripper()}
	for range 5 {
		req, _ := http.NewRequest(http.MethodGet, "https://euw1.api.riotgames.com/lol/status/v4/platform-data", http.NoBody)
		req.Header.Set("X-Riot-Token", testKey)
		resp, err := client.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.StatusCode, resp.Header.Get("X-App-Rate-Limit-Count"))
		resp.Body.Close()
	}
	report := edge.Report()
	app, _ := report.Scope(riotsim.Application, testKey, "euw1", "")
	fmt.Println("accepted", report.Accepted, "of at most", report.Most, "own fault", report.Violations, "peak", app.Windows[0].Peak)
	// Output:
	// 200 1:600
	// 200 2:600
	// 200 3:600
	// 429 4:600
	// 429 5:600
	// accepted 3 of at most 3 own fault 2 peak 5
}
