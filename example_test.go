package riftrelay_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
	"riftrelay/route"
)

// riot stands for Riot's API in the examples: leave Base out to call the real
// one.
func riot() http.RoundTripper {
	edge, err := riotsim.New(riotsim.Config{})
	if err != nil {
		panic(err)
	}
	return edge.RoundTripper()
}

// Any Go program that takes an http.Client keeps Riot's limits with this one.
func Example() {
	limiter, err := riftrelay.New(riftrelay.Config{
		Keys: []riftrelay.Key{{Name: "main", Value: "RGAPI-your-key"}},
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
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode, resp.Header.Get("X-RiftRelay-Key"))
	// Output: 200 main
}

// A call that a person waits for goes first, and not later than in 8 seconds.
func ExampleWithOptions() {
	limiter, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Value: "RGAPI-your-key"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limiter.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: riot()}}

	ctx := riftrelay.WithOptions(context.Background(), riftrelay.Options{
		Priority: riftrelay.High,
		MaxWait:  8 * time.Second,
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://euw1.api.riotgames.com/lol/status/v4/platform-data", http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	report, _ := riftrelay.ReportOf(resp)
	fmt.Println(report.Route, report.Key, report.Tries)
	// Output: euw1:/lol/status/v4/platform-data key0 1
}

// What can't be admitted in time is rejected at once, with the time at which
// to come back.
func ExampleRejectedError() {
	limiter, err := riftrelay.New(riftrelay.Config{
		Keys:            []riftrelay.Key{{Value: "RGAPI-your-key"}},
		DefaultAppLimit: "1:120",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limiter.Close()
	r, err := route.Default().Match(http.MethodGet, "euw1", "/lol/status/v4/platform-data")
	if err != nil {
		fmt.Println(err)
		return
	}
	permit, err := limiter.Acquire(context.Background(), r, riftrelay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	permit.Sent()
	permit.Observe(http.StatusOK, http.Header{"X-App-Rate-Limit": {"1:120"}})

	_, err = limiter.Acquire(context.Background(), r, riftrelay.Options{MaxWait: time.Second})
	var rejected *riftrelay.RejectedError
	if errors.As(err, &rejected) {
		fmt.Println(rejected.Reason, rejected.RetryAfter.Round(time.Minute))
	}
	fmt.Println(errors.Is(err, riftrelay.ErrNotInTime))
	// Output:
	// deadline 2m0s
	// true
}

// A program with a loop of its own asks for a Permit for each call.
func ExampleLimiter_Acquire() {
	limiter, err := riftrelay.New(riftrelay.Config{Keys: []riftrelay.Key{{Name: "main", Value: "RGAPI-your-key"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limiter.Close()
	r, err := route.Default().Match(http.MethodGet, "euw1", "/lol/status/v4/platform-data")
	if err != nil {
		fmt.Println(err)
		return
	}

	permit, err := limiter.Acquire(context.Background(), r, riftrelay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Send the request with the key that permit.Authorize sets, then:
	permit.Sent()
	permit.Observe(http.StatusOK, http.Header{
		"X-App-Rate-Limit":       {"20:1,100:120"},
		"X-App-Rate-Limit-Count": {"1:1,1:120"},
	})
	for _, w := range limiter.Snapshot().Scopes[0].Windows {
		fmt.Println(w.Used, "of", w.Limit, "in", w.Window)
	}
	// Output:
	// 1 of 20 in 1s
	// 1 of 100 in 2m0s
}
