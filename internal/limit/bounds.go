package limit

import (
	"time"
)

// What a saved scope and a store's answer may say of halved limits.
const (
	ViolationWindow = time.Minute     // own 429s within it count towards the next halving
	EaseAfter       = 5 * time.Minute // without an own 429, each halving is undone after it
	MaxHalvings     = 3               // at most: an eighth of the limits
)

// MaxSavedViolations bounds how many violations are saved one by one. Whoever
// tolerates more a minute has little use for the breaker.
const MaxSavedViolations = 64

// SilentAnswers is how many counted answers in a row without limits show that
// a scope has none to tell of.
const SilentAnswers = 3

// CalmWindows is for how many windows' lengths after others were seen they are
// reckoned with.
const CalmWindows = 10

// DefaultTolerance is how many own 429s within ViolationWindow a scope tolerates
// before it halves its limits.
const DefaultTolerance = 3
