//go:build !race

package redisstore

// thin: see race_test.go.
const thin = 1
