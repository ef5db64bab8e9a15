// Package sched decides who goes next, and on which key.
//
// A Machine holds, for each host, the application's scopes of every key, the
// buckets (one for each method: its scopes, and the queues of the calls that
// wait for it) and the order among them:
//
//	lane    the calls of one method and priority, first in, first out   lane.go
//	line    the lanes that wait for the same application budget          line.go
//	host    its lines; high before normal, but not forever              host.go
//	Machine all hosts, by the time at which they can go on               machine.go
//
// A call comes in through enqueue.go, is let go by serve.go and ends in
// settle.go; predict.go tells when one will start.
//
// Which keys there are, which calls each is for, and which are any good, say
// keys.go and health.go: a key that Riot refuses takes a probe now and then, and
// nothing else.
//
// Of the lanes that could go, the one served longest ago goes. A lane whose
// method is exhausted is parked until it has room, so it holds up nobody; when
// the application's budget is exhausted, the whole line waits for one moment.
// Work is done only where something changed.
//
// The machine is pure state: it never reads a clock and never waits, and it is
// not safe for concurrent use. The shell around it does the locking, the
// waiting, and the waking at NextWake.
package sched
