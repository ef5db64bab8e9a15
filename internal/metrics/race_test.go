//go:build race

package metrics

// raceEnabled says that the race detector watches, ten times as slowly.
const raceEnabled = true
