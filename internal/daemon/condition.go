package daemon

import (
	"fmt"
	"slices"
	"strings"

	"riftrelay"
)

// condition is what of a snapshot concerns the readiness.
type condition struct {
	usable   bool     // there is a key to send with
	keys     []string // what speaks against each key
	warnings []string // what hurts some calls
}

// maxWarnings bounds the answer; the first ones tell what is the matter.
const maxWarnings = 20

func conditionOf(s riftrelay.Snapshot) condition {
	var c condition
	groups := map[string]bool{} // which have a usable key
	var bad []string
	for _, k := range s.Keys {
		c.usable = c.usable || k.Usable
		groups[k.Group] = groups[k.Group] || k.Usable
		why := k.Name
		if len(k.Reasons) > 0 {
			why += ": " + strings.Join(k.Reasons, " and ")
			c.keys = append(c.keys, why)
		}
		if k.Usable {
			for _, reason := range k.Reasons {
				bad = append(bad, "key "+k.Name+" is usable, but had "+reason)
			}
		} else {
			bad = append(bad, fmt.Sprintf("key %s is %s", k.Name, k.State)+strings.TrimPrefix(why, k.Name))
		}
	}
	if c.usable { // else these are reasons
		for name, usable := range groups {
			if !usable && name == "" {
				c.warnings = append(c.warnings, "no key of the default group is usable")
			} else if !usable {
				c.warnings = append(c.warnings, "no key of group "+name+" is usable")
			}
		}
		slices.Sort(c.warnings)
		c.warnings = append(c.warnings, bad...)
	}
	if st := s.Store; st != nil && st.Away != "" {
		c.warnings = append(c.warnings, storeWarning(st))
	}
	if st := s.Store; st != nil && len(st.Elsewhere) > 0 {
		c.warnings = append(c.warnings, "other relays use another part of the store, and share no limits with this one: "+strings.Join(st.Elsewhere, "; "))
	}
	for _, sc := range s.Scopes {
		if sc.Halved > 0 {
			c.warnings = append(c.warnings, breakerWarning(sc))
		}
	}
	if n := len(c.warnings) - maxWarnings; n > 0 {
		c.warnings = append(c.warnings[:maxWarnings:maxWarnings], fmt.Sprintf("and %d more", n))
	}
	return c
}

func storeWarning(s *riftrelay.StoreState) string {
	doing := "nothing is sent (STORE_LOSS=closed)"
	if s.Alone {
		doing = fmt.Sprintf("this replica uses its share, as one of %d", s.Replicas)
	}
	return fmt.Sprintf("the store has been away for %d s: %s; %s", int(s.For.Seconds()), s.Away, doing)
}

func breakerWarning(s riftrelay.ScopeState) string {
	where := s.Host
	if s.Method != "" {
		where += ":" + s.Method
	}
	if s.Key != "" {
		where += " on key " + s.Key
	}
	return fmt.Sprintf("breaker tripped: %s uses 1/%d of its limits, after too many 429s of our own making", where, 1<<s.Halved)
}
