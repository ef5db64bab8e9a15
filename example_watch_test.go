package riftrelay_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"riftrelay"
	"riftrelay/route"
)

// Hooks hear of what one asks for; here of limits, as Riot tells them.
func ExampleHooks() {
	limiter, err := riftrelay.New(riftrelay.Config{
		Keys: []riftrelay.Key{{Name: "main", Value: "RGAPI-your-key"}},
		Hooks: riftrelay.Hooks{
			Change: func(e riftrelay.ChangeEvent) {
				if e.Kind == riftrelay.ChangeLimitLearned {
					fmt.Println(e.Key, e.Scope, e.Host, e.New, "calls in", e.Window)
				}
			},
			Answer: func(_ context.Context, e riftrelay.AnswerEvent) {
				fmt.Println(e.Route, e.Status)
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limiter.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: riot()}}

	resp, err := client.Get("https://euw1.api.riotgames.com/lol/status/v4/platform-data")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	// Output:
	// main application euw1 20 calls in 1s
	// main application euw1 100 calls in 2m0s
	// main method euw1 20000 calls in 10s
	// main method euw1 1200000 calls in 10m0s
	// euw1:/lol/status/v4/platform-data 200
}

// A log of all that changes, without a line for single calls.
func ExampleConfig_logger() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // so that the output is the same each time
			}
			return a
		},
	}))
	limiter, err := riftrelay.New(riftrelay.Config{
		Keys:   []riftrelay.Key{{Name: "main", Value: "RGAPI-your-key"}},
		Logger: log,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limiter.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: riot()}}

	resp, err := client.Get("https://euw1.api.riotgames.com/lol/status/v4/platform-data")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	// Output:
	// level=INFO msg="limit learned" key=main host=euw1 limit=20:1
	// level=INFO msg="limit learned" key=main host=euw1 limit=100:120
	// level=INFO msg="limit learned" key=main host=euw1 method=/lol/status/v4/platform-data limit=20000:10
	// level=INFO msg="limit learned" key=main host=euw1 method=/lol/status/v4/platform-data limit=1200000:600
}

// What is left of a route's limits, at any time.
func ExampleLimiter_Limits() {
	limiter, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Name: "main", Value: "RGAPI-your-key"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limiter.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: riot()}}
	resp, err := client.Get("https://euw1.api.riotgames.com/lol/status/v4/platform-data")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()

	r, err := route.Default().Match(http.MethodGet, "euw1", "/lol/status/v4/platform-data")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, scope := range limiter.Limits(r) {
		for _, w := range scope.Windows {
			fmt.Printf("%s %q: %d of %d in %v are left\n", scope.Key, scope.Method, w.Limit-w.Used, w.Limit, w.Window)
		}
	}
	// Output:
	// main "": 19 of 20 in 1s are left
	// main "": 99 of 100 in 2m0s are left
	// main "/lol/status/v4/platform-data": 19999 of 20000 in 10s are left
	// main "/lol/status/v4/platform-data": 1199999 of 1200000 in 10m0s are left
}
