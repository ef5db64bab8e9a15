// Package riotsim is a simulated edge of the Riot Games API: it counts, refuses and answers as the
// real one was seen to do, and keeps exact accounts of what its callers did. It is the judge of
// everything that claims to keep Riot's limits, and a test double for programs of your own:
//
//	srv := riotsim.NewServer(t, riotsim.DevKey)
//	run(srv.URL())            // or run(srv.Client()), without sockets and in a synctest bubble
//	srv.AssertNoViolations(t)
//
// TestServer.Script makes calls go wrong: 429s of each kind, errors, resets, hangs. UseElsewhere is
// another program with the same key; SetAppLimit and SetMethodLimit change limits, SetKey what a key
// is worth, while calls are made. Calls, Requests and Report say afterwards what was done.
// docs/testing.md has it all in examples.
//
// # What it simulates
//
//   - A limit "20:1" is a window that opens when the first counted call arrives, lasts a second, and
//     is opened anew by the next call after that (R1). Config.Windows can make windows sliding or
//     aligned to the clock: a client that keeps all three relies on nothing that Riot hasn't promised.
//   - Each call raises all its counters, and only then are they checked. They go on rising while calls
//     are refused, and a refusal moves no window's end (R2).
//   - Three budgets: application, per key and host; method, per key, host and method; service, per
//     host and method over all keys, if one is set (R4). RSO methods have only a method limit, shared
//     by all users (R5). Config.Shared makes one budget span hosts (R8).
//   - What Riot doesn't count isn't counted: bad keys, gateway errors, 429s of kind server (R3, R18).
//   - Headers as they were seen, and in the odd forms too: order, counts, Retry-After, types (R11 to R15).
//   - Limits of the key tiers and methods seen in reality (R6, R16), and plausible bodies (R22).
//
// # What it doesn't
//
// It knows no slack and no lag between Riot's servers (R9), blacklists nobody (Totals.Nowhere counts
// the calls that would lead to it, R19), ends no development key after a day (SetKey does), and holds
// no data: a player is invented from the request, and an id that starts with "missing" gets 404.
//
// # Other ways in
//
//   - Edge.Arrive: one call, with the time as an argument. No HTTP, no clock, no latency.
//   - Edge.RoundTripper: an http.RoundTripper without a connection, for large runs in virtual time.
//   - Edge itself is an http.Handler, for any server; Edge.Serve runs one on a real listener, or on
//     Pipe, which has no sockets: HTTP from end to end in a testing/synctest bubble.
//
// Report returns totals, and for each window what was accepted, its highest count, and how much could
// have been accepted. With Config.Intervals it also measures the fullest interval of each window: if
// no interval of length W holds more than N arrivals, no placing of windows could have led to a 429.
//
// The rules R1…R24 are those of docs/riot.md.
package riotsim
