// Package riotsim is a simulated edge of the Riot Games API: it counts, refuses and answers as the
// real one was seen to do, and keeps exact accounts of what its callers did. It is the judge of
// everything that claims to keep Riot's limits, and a safe place for tests of your own.
//
//	edge, err := riotsim.New(riotsim.Config{Keys: map[string]string{"RGAPI-test": riotsim.Production}})
//	go edge.Serve(listener)
//	…
//	fmt.Print(edge.Report()) // accepted, 429s by kind, use of each window, whose fault it was
//
// # How it counts
//
// A limit "20:1" is a window that opens when the first counted call arrives, lasts a second, and is
// opened anew by the next call after that (R1). Every call raises the counters of its scopes, and
// only then are they checked; they go on rising while calls are refused, and a refusal moves no
// window's end (R2). The scopes of a call: its application limit, per key and host; its method limit,
// per key, host and method (also raised when the application limit refuses); its service limit, per
// host and method over all keys, if one is set (R4). A call to an RSO method has only a method limit,
// shared by all users (R5). What Riot doesn't count isn't counted here: bad keys, gateway errors, and
// 429s of kind server (R3). Config can make windows sliding or aligned to the clock instead: a
// limiter that keeps all three kinds relies on nothing that Riot hasn't promised.
//
// # Three ways in
//
//   - Edge.Arrive: one call, with the time as an argument. No HTTP, no clock, no latency.
//   - Edge.RoundTripper: an http.RoundTripper without a connection, for large runs in virtual time.
//   - Edge itself is an http.Handler, for any server; Edge.Serve runs one on a real listener, or on
//     Pipe, which has no sockets and works in a testing/synctest bubble.
//
// # What to ask it afterwards
//
// Report gives totals, and for each window what was accepted, its highest count, and how much could
// have been accepted. Violations are the 429s that its own application and method counters caused.
// With Config.Intervals it also measures the fullest interval of each window: if no interval of
// length W holds more than N arrivals, no placing of windows could have led to a 429.
//
// The rules R1…R24 are those of docs/riot.md.
package riotsim
