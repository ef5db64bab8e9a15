//go:build !race

package riftrelay_test

import "testing"

// raceEnabled: see race_test.go.
const raceEnabled = false

// thinned: see race_test.go.
func thinned(*testing.T, uint32) bool { return false }
