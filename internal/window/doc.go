// Package window is the arithmetic of one scope: when its next call may go, and
// what an answer of Riot changes.
//
// The unit is the charge. A call that may reach Riot puts one charge on every
// Window of its scopes, the application's and the method's. It is taken at
// admission and expires W after the latest moment at which Riot can have
// counted the call:
//
//	expires = W + u    u = min(time the answer's head arrived, time of sending + J)
//
// J, the margin, bounds what a call takes on its way to Riot. A window has room
// while fewer than N charges are unexpired; then no interval of length W at Riot
// holds more than N arrivals, wherever Riot's windows open.
//
// The theorem assumes three things. Riot counts a call before it answers it. A
// call is admitted before it arrives. And a call whose answer takes longer than J
// arrived within J of its sending. J is the greatest in force while the charge is
// unexpired, see window.keep. How slow or uneven the delays of other calls are,
// there or back, plays no part.
//
// Proof. Take any interval of length W at Riot and, of the calls that arrived in
// it, n, the one admitted last. Every other one, i, has
//
//	u(i) ≥ arrival(i) > arrival(n) - W ≥ admission(n) - W
//
// so u(i) + W > admission(n): its charge was unexpired when n was admitted, and
// there were fewer than N of them. With d, the least time that a call admitted in
// that time takes to arrive, arrival(n) ≥ admission(n) + d: so J may even be too
// small by d. docs/adr/001-charges-instead-of-fixed-windows.md says what this is
// better than, and docs/adr/007-one-margin.md how large J is.
//
//	window   one limit N:W: its charges, and its pacing              window.go, ring.go, pace.go
//	Scope    the windows that Riot counts together                   scope.go
//	Gate     cool-downs after a 429, and calls that go alone         gate.go
//	Hold     what one call holds of its scopes' windows              hold.go
//	Answer   the headers of one answer, and what they mean           learn.go
//	others   other programs on the same key, seen by Riot's counts   others.go
//	Margin   J, from a floor and whole round trips                   margin.go
//	breaker  halves the limits after too many own 429s               breaker.go
//
// One call's way through it: Next of its scopes and gates says when it can go,
// Hold.Take charges it, Hold.Sent starts its charges' time, Learn takes over
// what the answer says, and Hold.Settle ends it.
//
// Everything here is plain state: time and random numbers are arguments, and
// nothing locks or waits. The caller serialises the calls.
package window
