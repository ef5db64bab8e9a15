package riftrelay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"riftrelay"
	"riftrelay/internal/limit"
	"riftrelay/internal/memstore"
	"riftrelay/riotsim"
	"riftrelay/route"
)

// PacingSpread sends evenly, PacingBurst as soon as there is room, and the
// default is half of each. It changes while calls wait.
func ExampleLimiter_SetPacing() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours, Pacing: riftrelay.PacingSpread}))
	defer limiter.Close()
	first := must(limiter.Acquire(context.Background(), platformData(), riftrelay.Options{}))
	first.Sent()
	first.Observe(http.StatusOK, http.Header{"X-App-Rate-Limit": {"10:100"}, "X-App-Rate-Limit-Count": {"1:100"}})
	second := must(limiter.Acquire(context.Background(), platformData(), riftrelay.Options{}))
	defer second.Release()

	for _, share := range []riftrelay.Pacing{riftrelay.PacingSpread, riftrelay.PacingBurst, riftrelay.PacingBalanced} {
		limiter.SetPacing(share)
		wait, _, err := limiter.Estimate(platformData(), 1, riftrelay.Options{})
		fmt.Println(share, wait.Round(time.Second), err)
	}
	// Output:
	// spread 10s <nil>
	// burst 0s <nil>
	// balanced 0s <nil>
}

// Now or never.
func ExampleLimiter_TryAcquire() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours, Pacing: riftrelay.PacingBurst}))
	defer limiter.Close()

	first := must(limiter.Acquire(context.Background(), platformData(), riftrelay.Options{}))
	_, err := limiter.TryAcquire(platformData(), riftrelay.Options{}) // before the first one's answer has told the limits
	fmt.Println(errors.Is(err, riftrelay.ErrNotInTime))

	first.Sent()
	first.Observe(http.StatusOK, http.Header{"X-App-Rate-Limit": {"20:1,100:120"}})
	permit, err := limiter.TryAcquire(platformData(), riftrelay.Options{})
	fmt.Println(err)
	permit.Release() // not sent: it costs nothing
	// Output:
	// true
	// <nil>
}

// Do 12 calls fit into 40 seconds? The question takes no slot.
func ExampleLimiter_Estimate() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer limiter.Close()
	first := must(limiter.Acquire(context.Background(), platformData(), riftrelay.Options{}))
	first.Sent()
	first.Observe(http.StatusTooManyRequests, http.Header{"X-Rate-Limit-Type": {"service"}, "Retry-After": {"30"}})

	wait, why, err := limiter.Estimate(platformData(), 12, riftrelay.Options{})
	fmt.Println(wait < 40*time.Second, why.Kind, err)
	// Output: true service <nil>
}

// Calls of one product go on its key.
func ExampleOptions_key() {
	limiter := must(riftrelay.New(riftrelay.Config{
		Keys: []riftrelay.Key{{Name: "site", Value: "RGAPI-site"}, {Name: "bot", Value: "RGAPI-bot"}},
	}))
	defer limiter.Close()
	permit := must(limiter.Acquire(context.Background(), platformData(), riftrelay.Options{Key: riftrelay.Key{Name: "bot"}}))
	defer permit.Release()
	fmt.Println(permit.Key())
	// Output: bot
}

// Tournament calls have a key of their own, and no other call goes on it.
func ExampleGroup() {
	limiter := must(riftrelay.New(riftrelay.Config{
		Keys:   []riftrelay.Key{{Name: "main", Value: "RGAPI-your-key"}, {Name: "tournament", Value: "RGAPI-another"}},
		Groups: []riftrelay.Group{{Name: "tournament", Paths: []string{"/lol/tournament/"}}},
	}))
	defer limiter.Close()
	for _, path := range []string{"/lol/tournament/v5/codes/x", "/lol/match/v5/matches/x"} {
		r := must(route.Default().Match(http.MethodGet, "americas", path))
		permit := must(limiter.Acquire(context.Background(), r, riftrelay.Options{}))
		fmt.Println(r, permit.Key())
		permit.Release()
	}
	// Output:
	// americas:/lol/tournament/v5/codes/{tournamentCode} tournament
	// americas:/lol/match/v5/matches/{matchId} main
}

// Each product that uses a service passes on a key of its own. Its limits are
// its own too.
func ExampleOptions_keyOfACall() {
	limiter := must(riftrelay.New(riftrelay.Config{}))
	defer limiter.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: riot()}}

	for _, key := range []string{"RGAPI-of-one", "RGAPI-of-another"} {
		ctx := riftrelay.WithOptions(context.Background(), riftrelay.Options{Key: riftrelay.Key{Value: key}})
		req := must(http.NewRequestWithContext(ctx, http.MethodGet, "https://euw1.api.riotgames.com/lol/status/v4/platform-data", http.NoBody))
		resp := must(client.Do(req))
		resp.Body.Close()
		fmt.Println(resp.StatusCode)
	}
	for _, k := range limiter.Snapshot().Keys {
		fmt.Println(k.Name, k.State)
	}
	// Output:
	// 200
	// 200
	// call-653bdec3b73e9a4a usable
	// call-0fa6ad5bb3be1cca usable
}

// What counts on the limits outlives the process.
func ExampleLimiter_SaveState() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: riot()}}
	resp := must(client.Get("https://euw1.api.riotgames.com/lol/status/v4/platform-data"))
	resp.Body.Close()
	limiter.Close()
	var file bytes.Buffer // a real one is written every StateInterval, too
	if err := limiter.SaveState(&file); err != nil {
		fmt.Println(err)
	}

	next := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer next.Close()
	restored := must(next.LoadState(&file))
	fmt.Println(restored.Scopes, "of", restored.Saved)
	fmt.Println(next.Snapshot().Scopes[0].Windows[1].Used, "used in two minutes")
	// Output:
	// 2 of 2
	// 1 used in two minutes
}

// Several processes with the same key share a store; here one of two limiters
// in one process. Package redisstore has one for real.
func ExampleConfig_store() {
	began := time.Now()
	store := memstore.NewMemoryStore(func() limit.Instant { return limit.Instant(time.Since(began)) })
	defer store.Close()
	edge := riot()
	for _, replica := range []string{"a", "b"} {
		limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours, Store: store, Replica: replica}))
		client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: edge}}
		resp := must(client.Get("https://euw1.api.riotgames.com/lol/status/v4/platform-data"))
		resp.Body.Close()
		fmt.Println(limiter.Snapshot().Store.Replica, resp.StatusCode)
		limiter.Close()
	}
	// Output:
	// a 200
	// b 200
}

// A test of a loop of your own should end without open permits.
func ExampleLimiter_OpenPermits() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer limiter.Close()
	permit := must(limiter.Acquire(context.Background(), platformData(), riftrelay.Options{}))
	fmt.Println(len(limiter.OpenPermits()), "open")

	permit.Release()
	permit.Release() // does nothing, but is counted
	fmt.Println(len(limiter.OpenPermits()), "open,", limiter.Snapshot().EndedTwice, "ended twice")
	// Output:
	// 1 open
	// 0 open, 1 ended twice
}

// The answer's JSON as a type of yours.
func ExampleGetJSON() {
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer limiter.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: riot()}}

	type account struct{ PUUID, GameName, TagLine string }
	a, err := riftrelay.GetJSON[account](context.Background(), client,
		"https://europe.api.riotgames.com/riot/account/v1/accounts/by-riot-id/Faker/KR1")
	fmt.Println(a.GameName, a.TagLine, err)
	// Output: Faker KR1 <nil>
}

// What went wrong, in Riot's words.
func ExampleAPIError() {
	edge := must(riotsim.New(riotsim.Config{}))
	limiter := must(riftrelay.New(riftrelay.Config{Keys: oneKeyOfYours}))
	defer limiter.Close()
	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter, Base: edge.RoundTripper()}}

	_, err := riftrelay.GetJSON[any](context.Background(), client,
		"https://euw1.api.riotgames.com/lol/summoner/v4/summoners/by-puuid/missing")
	var api *riftrelay.APIError
	if errors.As(err, &api) {
		fmt.Println(api.Status, api.Message, errors.Is(err, riftrelay.ErrNotFound))
	}
	// Output: 404 Data not found true
}
