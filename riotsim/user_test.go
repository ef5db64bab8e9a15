package riotsim_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// These are tests as users of this package write them. docs/testing.md quotes them and the examples.

func TestAsksOnlyOnce(t *testing.T) {
	srv := riotsim.NewServer(t, riotsim.DevKey)
	if _, err := level(http.DefaultClient, srv.URL()+"/euw1", "p", time.Sleep); err != nil {
		t.Fatal(err)
	}
	srv.AssertCalls(t, "euw1", "summoner-v4", 1)
	srv.AssertNoViolations(t)
}

func TestWaitsForTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := riotsim.NewServer(t, riotsim.DevKey)
		srv.Script("euw1", "summoner-v4",
			riotsim.RateLimited(riotsim.Service, 2*time.Second),
			riotsim.Pass())
		began := time.Now()
		if _, err := level(srv.Client(), "https://euw1.api.riotgames.com", "p", time.Sleep); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("waited %v, want 2s", d)
		}
		srv.AssertCalls(t, "euw1", "summoner-v4", 2)
	})
}

func TestKeepsTheLimitsOfADevelopmentKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := riotsim.NewServer(t, riotsim.DevKey, func(c *riotsim.Config) {
			c.Latency = riotsim.Latency{Up: 20 * time.Millisecond, Down: 20 * time.Millisecond}
			c.Windows = riotsim.Sliding // stricter than Riot
		})
		limiter, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Name: "main", Value: testKey}}})
		if err != nil {
			t.Fatal(err)
		}
		defer limiter.Close()
		client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: srv.RoundTripper()}}

		var wg sync.WaitGroup
		began := time.Now()
		for range 200 {
			wg.Go(func() {
				if _, err := level(client, "https://euw1.api.riotgames.com", "p", time.Sleep); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()

		srv.AssertCalls(t, "euw1", "", 200)
		srv.AssertNoViolations(t)
		if d := time.Since(began); d > 4*time.Minute {
			t.Errorf("200 calls took %v; 100 in 2 minutes are allowed", d)
		}
		app, _ := srv.Report().Scope(riotsim.Application, testKey, "euw1", "")
		if used := app.Windows[1].Use(); used < 0.98 {
			t.Errorf("used %.1f%% of 100 in 2 minutes", 100*used)
		}
	})
}

func TestGivesUpOnACallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := riotsim.NewServer(t, riotsim.ProductionKey)
		srv.Script("", "", riotsim.Late(time.Minute), riotsim.Reset(), riotsim.Gateway(http.StatusForbidden))
		client := srv.Client()
		client.Timeout = 10 * time.Second
		for range 3 {
			if _, err := level(client, "https://euw1.api.riotgames.com", "p", time.Sleep); err == nil {
				t.Error("no error")
			}
		}
		if _, err := level(client, "https://euw1.api.riotgames.com", "p", time.Sleep); err != nil {
			t.Error(err)
		}
	})
}

// Whatever docs/testing.md shows is run here: each of its blocks of Go stands in this file or in example_test.go, apart
// from indentation.
func TestDocumentationIsRun(t *testing.T) {
	flat := func(text string) string {
		return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, "")
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	code := flat(read("user_test.go") + read("example_test.go"))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read("../docs/testing.md"), -1)
	if len(blocks) < 4 {
		t.Errorf("docs/testing.md has %d blocks of Go", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(code, flat(b[1])) {
			t.Errorf("docs/testing.md shows what no test runs:\n%s", b[1])
		}
	}
}
