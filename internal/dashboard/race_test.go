//go:build race

package dashboard

// raced says that the race detector is on, which allocates.
const raced = true
