// Package conns is the server's side of clients' connections. It answers who
// may be connected, what a connection may cost, and what a request is.
//
//   - listener.go: how many connections are open, in all and of one address.
//   - room.go: which one is closed when another client has no room.
//   - conn.go: one connection, its state and its bound on writing.
//   - socket_unix.go: whether its client has sent something.
//   - checked.go, head.go: HTTP/1 heads, held back until they are complete.
//   - refusals.go: net/http's own errors in the form of all others.
//   - unread.go: answers that don't wait for a request's body.
package conns
