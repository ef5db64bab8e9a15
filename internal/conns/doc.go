// Package conns is the server's side of clients' connections. It answers who
// may be connected, and what a connection may cost.
//
//   - listener.go: how many connections are open, in all and of one address,
//     and which one is closed when another client has no room.
//   - conn.go: one connection, its state and its bound on writing.
//   - refusals.go: net/http's own errors in the form of all others.
//   - unread.go: answers that don't wait for a request's body.
package conns
