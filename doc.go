// Package riftrelay calls the Riot Games API (League of Legends, Teamfight
// Tactics, VALORANT) so that its rate limits are used to the full and never
// exceeded.
//
//	limiter, err := riftrelay.New(riftrelay.Config{
//		Keys: []riftrelay.Key{{Name: "main", Value: os.Getenv("RIOT_TOKEN")}},
//	})
//	client := &http.Client{Transport: &riftrelay.Transport{Limiter: limiter}}
//	resp, err := client.Get("https://euw1.api.riotgames.com/lol/status/v4/platform-data")
//
// A call waits until a key has room for it in every limit that Riot counts it
// against, and is then sent with that key. The limits are learned from Riot's
// answers; nothing about them is configured.
//
// Every call runs through four stages, in Transport.RoundTrip:
//
//	1 route     which host and method of Riot's is it?      package route
//	2 admit     who goes next, when, and on which key?      internal/sched
//	3 forward   send it, with the key, once for a charge    attempt.go
//	4 observe   what does the answer teach?                 internal/window
//
// A 429 goes back to stage 2. The relay (cmd/riftrelay) is an HTTP server
// around the same Transport.
//
// How one call is admitted is said in its context (WithOptions): its priority, a
// budget, a key that it must use, the longest wait. A call that can't be admitted
// fails with a *RejectedError, which says why and when to come back; nothing was
// sent for it. GetJSON fetches a URL and decodes its body.
//
// Programs with a loop of their own use Limiter.Acquire and the Permit it
// gives. Limiter.Snapshot shows every limit, what is used of it and what waits;
// Config.Hooks are told as it happens.
//
// There is an example for each of these, and for each error.
//
// Package riotsim is a simulated Riot edge for tests.
package riftrelay
