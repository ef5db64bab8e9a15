//go:build !race

package riftrelay_test

// raceEnabled: see race_test.go.
const raceEnabled = false
