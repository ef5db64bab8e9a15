package riftrelay_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"riftrelay"
	"riftrelay/route"
)

// must is for examples: a program of yours looks at the error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var oneKeyOfYours = []riftrelay.Key{{Name: "main", Value: "RGAPI-your-key"}}

// platformData is the route of the examples' calls.
func platformData() route.Route {
	return must(route.Default().Match(http.MethodGet, "euw1", "/lol/status/v4/platform-data"))
}

// The queue is full: here it has no places, and the first call of a process waits
// for Config.Margin, because calls of the process before may still be under way.
func ExampleErrQueueFull() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours, QueueCapacity: -1}))
	defer limiter.Close()
	_, err := limiter.Acquire(context.Background(), platformData(), riftrelay.Options{})
	fmt.Println(errors.Is(err, riftrelay.ErrQueueFull))
	// Output: true
}

// Room comes too late for the context's deadline. The limiter knows that before
// waiting, and says which limit it is.
func ExampleErrNotInTime() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours, Pacing: riftrelay.PacingBurst}))
	defer limiter.Close()
	first := must(limiter.Acquire(context.Background(), platformData(), riftrelay.Options{}))
	first.Sent()
	first.Observe(http.StatusOK, http.Header{"X-App-Rate-Limit": {"1:120"}, "X-App-Rate-Limit-Count": {"1:120"}})

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	began := time.Now()
	_, err := limiter.Acquire(ctx, platformData(), riftrelay.Options{})
	fmt.Println(errors.Is(err, riftrelay.ErrNotInTime), time.Since(began) < 5*time.Second)
	var rejected *riftrelay.RejectedError
	if errors.As(err, &rejected) {
		w := rejected.Wait
		fmt.Println(w.Key, w.Scope, w.Used, "of", w.Limit, "in", w.Window, "- retry in", rejected.RetryAfter.Round(time.Second))
	}
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// true true
	// main application 1 of 1 in 2m0s - retry in 2m0s
	// true
}

// The call waited, since it could have gone in time. But the answer that it
// depended on did not come: Reason tells the two apart.
func ExampleErrNotInTime_timeout() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer limiter.Close()
	first := must(limiter.Acquire(context.Background(), platformData(), riftrelay.Options{}))
	defer first.Release()

	_, err := limiter.Acquire(context.Background(), platformData(), riftrelay.Options{MaxWait: 100 * time.Millisecond})
	var rejected *riftrelay.RejectedError
	fmt.Println(errors.Is(err, riftrelay.ErrNotInTime), errors.As(err, &rejected) && rejected.Reason == riftrelay.ReasonTimeout)
	// Output: true true
}

// There is no key for the call; Detail says of each why it is no good.
func ExampleErrNoKey() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer limiter.Close()
	if err := limiter.DisableKey("main"); err != nil {
		fmt.Println(err)
	}
	_, err := limiter.Acquire(context.Background(), platformData(), riftrelay.Options{})
	fmt.Println(errors.Is(err, riftrelay.ErrNoKey))
	fmt.Println(err)
	// Output:
	// true
	// riftrelay: rejected: no_available_key at euw1:/lol/status/v4/platform-data: main: disabled 0 s ago
}

// The limiter is closed, or drains.
func ExampleErrClosed() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	limiter.Close()
	_, err := limiter.Acquire(context.Background(), platformData(), riftrelay.Options{})
	fmt.Println(errors.Is(err, riftrelay.ErrClosed))
	// Output: true
}

// What Riot doesn't serve isn't sent: Riot blacklists keys for such calls.
func ExampleErrUnknownRoute() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer limiter.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: riot()}}

	_, err := client.Get("https://euw1.api.riotgames.com/lol/sumoner/v4/summoners/me")
	fmt.Println(errors.Is(err, riftrelay.ErrUnknownRoute))
	_, err = client.Get("https://example.com/")
	fmt.Println(errors.Is(err, riftrelay.ErrUnknownRoute))
	// Output:
	// true
	// true
}

// More keys at a time than a limiter knows: see Options.Key.
func ExampleErrTooManyKeys() {
	limiter := must(riftrelay.New(riftrelay.Config{}))
	defer limiter.Close()
	r := platformData()
	for i := range 1024 {
		o := riftrelay.Options{Key: riftrelay.Key{Value: fmt.Sprint("RGAPI-", i)}}
		must(limiter.Acquire(context.Background(), r, o)) // and under way still
	}
	_, err := limiter.Acquire(context.Background(), r, riftrelay.Options{Key: riftrelay.Key{Value: "RGAPI-one-more"}})
	fmt.Println(errors.Is(err, riftrelay.ErrTooManyKeys))
	// Output: true
}

func ExampleErrUnknownKey() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer limiter.Close()
	err := limiter.DisableKey("spare")
	fmt.Println(errors.Is(err, riftrelay.ErrUnknownKey))
	fmt.Println(err)
	// Output:
	// true
	// riftrelay: unknown key: no key in use is called so; allowed: main
}

// hanging never answers.
type hanging struct{}

func (hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

// Riot did not answer in time. The call may have been counted, so it stays
// charged.
func ExampleErrUpstreamTimeout() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer limiter.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: hanging{}, Timeout: 10 * time.Millisecond}}

	_, err := client.Get("https://euw1.api.riotgames.com/lol/status/v4/platform-data")
	fmt.Println(errors.Is(err, riftrelay.ErrUpstreamTimeout))
	// Output: true
}

// A file that SaveState did not write leaves the limiter as it is.
func ExampleErrState() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer limiter.Close()
	_, err := limiter.LoadState(strings.NewReader("{"))
	fmt.Println(errors.Is(err, riftrelay.ErrState))
	// Output: true
}
