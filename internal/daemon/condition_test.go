package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"riftrelay"
)

// What hurts some calls is a warning, as long as any key is usable.
func TestCondition(t *testing.T) {
	good := riftrelay.KeyState{Name: "main", Usable: true, State: riftrelay.KeyUsable}
	disabled := riftrelay.KeyState{Name: "off", Group: "tournament", State: riftrelay.KeyDisabled, Reasons: []string{"disabled 3 min ago"}}
	suspect := riftrelay.KeyState{Name: "dead", State: riftrelay.KeySuspect, Reasons: []string{"401 Unknown apikey 1 s ago"}}
	tripped := []riftrelay.ScopeState{{Host: "kr"}, {Key: "main", Host: "euw1", Method: "/x", Halved: 2}, {Host: "europe", Method: "/me", Halved: 1}, {Key: "main", Host: "kr", Halved: 3}}
	for name, c := range map[string]struct {
		keys     []riftrelay.KeyState
		scopes   []riftrelay.ScopeState
		usable   bool
		reasons  []string
		warnings []string
	}{
		"all is well": {keys: []riftrelay.KeyState{good}, usable: true},
		"a group without a key": {keys: []riftrelay.KeyState{good, disabled}, usable: true, reasons: []string{"off: disabled 3 min ago"},
			warnings: []string{"no key of group tournament is usable", "key off is disabled: disabled 3 min ago"}},
		"the default group without a key": {keys: []riftrelay.KeyState{suspect, {Name: "t", Group: "tournament", Usable: true}}, usable: true,
			reasons: []string{"dead: 401 Unknown apikey 1 s ago"}, warnings: []string{"no key of the default group is usable", "key dead is suspect: 401 Unknown apikey 1 s ago"}},
		"one of two": {keys: []riftrelay.KeyState{good, suspect}, usable: true, reasons: []string{"dead: 401 Unknown apikey 1 s ago"},
			warnings: []string{"key dead is suspect: 401 Unknown apikey 1 s ago"}},
		"refused in one place": {keys: []riftrelay.KeyState{{Name: "main", Usable: true, State: riftrelay.KeyUsable, Reasons: []string{"403 from match-v5 on europe 3 s ago"}}}, usable: true,
			reasons: []string{"main: 403 from match-v5 on europe 3 s ago"}, warnings: []string{"key main is usable, but had 403 from match-v5 on europe 3 s ago"}},
		"no key at all": {keys: []riftrelay.KeyState{suspect, disabled}, reasons: []string{"dead: 401 Unknown apikey 1 s ago", "off: disabled 3 min ago"}},
		"tripped breakers": {keys: []riftrelay.KeyState{good}, scopes: tripped, usable: true, warnings: []string{
			"breaker tripped: euw1:/x on key main uses 1/4 of its limits, after too many 429s of our own making",
			"breaker tripped: europe:/me uses 1/2 of its limits, after too many 429s of our own making",
			"breaker tripped: kr on key main uses 1/8 of its limits, after too many 429s of our own making",
		}},
	} {
		got := conditionOf(riftrelay.Snapshot{Keys: c.keys, Scopes: c.scopes})
		if got.usable != c.usable || !slices.Equal(got.keys, c.reasons) || !slices.Equal(got.warnings, c.warnings) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	var many []riftrelay.ScopeState
	for i := range 1000 {
		many = append(many, riftrelay.ScopeState{Host: fmt.Sprint(i), Halved: 1})
	}
	got := conditionOf(riftrelay.Snapshot{Scopes: many}).warnings
	if len(got) != maxWarnings+1 || !strings.Contains(got[maxWarnings], "980 more") {
		t.Errorf("%d warnings, the last is %s", len(got), got[len(got)-1])
	}
}
