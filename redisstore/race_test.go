//go:build race

package redisstore

// thin is into how many parts long comparisons are cut under the race detector,
// of which one is made: the rest is left to the run without it.
const thin = 5
