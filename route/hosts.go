package route

import (
	"fmt"
	"slices"
	"strings"
)

// maxHosts bounds a table's hosts: every method holds one bit for each.
const maxHosts = 1024

const hostRule = "2 to 10 letters a-z, then at most one digit"

// isHostName reports whether s may become part of a host name at Riot: ^[a-z]{2,10}[0-9]?$ (R24). It has to be strict,
// because the name goes in front of the domain that the key is sent to.
func isHostName(s string) bool {
	if n := len(s); n > 0 && '0' <= s[n-1] && s[n-1] <= '9' {
		s = s[:n-1]
	}
	if len(s) < 2 || len(s) > 10 {
		return false
	}
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}

// listHosts reads Options.Hosts. It returns the table's hosts, sorted, and those that the option itself names.
func listHosts(option string, known []string) (all, named []string, problems []error) {
	list, add := strings.CutPrefix(strings.TrimSpace(option), "+")
	if list == "" && !add {
		return known, nil, nil
	}
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if add {
			item = strings.TrimPrefix(item, "+")
		}
		if !isHostName(item) {
			problems = append(problems, fmt.Errorf("hosts: %s is not a host name: want %s", quote(item), hostRule))
			continue
		}
		named = append(named, item)
	}
	all = named
	if add {
		all = slices.Concat(known, named)
	}
	return sortedSet(all), named, problems
}

func sortedSet(names []string) []string {
	set := slices.Clone(names)
	slices.Sort(set)
	return slices.Compact(set)
}
