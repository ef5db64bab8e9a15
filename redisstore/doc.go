// Package redisstore is a limit.Store in Redis (6.2 or later) or Valkey: the
// judge where relays on several machines call with the same keys.
//
// Each call is one script, which runs in the server without interruption. The
// scripts do what limit.MemoryStore does, in the same whole numbers: a test
// drives both with the same random calls and compares each answer. What one
// budget holds is one hash, named prefix{key|host}; the server's clock is the
// only one.
//
// A caller never waits long for the server. After one time-out the store is
// away: calls fail at once with ErrAway, while a probe in the background looks
// for it. A script that comes to run after its caller has given up does
// nothing. A clock that jumps, ahead, which would end charges before Riot's
// windows end, or back, which would end none, gives JumpError until as much time
// has passed.
package redisstore
