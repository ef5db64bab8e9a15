package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// staticHosts have Riot's static data: champions, items and pictures of League
// of Legends, constants of all games, cards of Legends of Runeterra.
var staticHosts = []string{"ddragon.leagueoflegends.com", "static.developer.riotgames.com", "dd.b.pvp.net"}

// tunnelHosts reads names that CONNECT may lead to.
func tunnelHosts(to *[]string) value {
	return value{
		allowed: "host names without a port, separated by commas, as in +raw.communitydragon.org; off = none",
		read: func(text string) error {
			if strings.EqualFold(text, "off") {
				*to = nil
				return nil
			}
			rest, more := strings.CutPrefix(text, "+")
			var list []string
			if more {
				list = slices.Clone(staticHosts)
			}
			for name := range strings.SplitSeq(rest, ",") {
				name = strings.ToLower(strings.TrimSpace(name))
				switch {
				case !isDomain(name):
					return fmt.Errorf("%q is no host name", name)
				case name == "api.riotgames.com" || strings.HasSuffix(name, ".api.riotgames.com"):
					return fmt.Errorf("%s is the API, which no tunnel leads past the limits to", name)
				}
				list = append(list, name)
			}
			slices.Sort(list)
			*to = slices.Compact(list)
			return nil
		},
	}
}

// isDomain takes names with a dot in them, which are no addresses.
func isDomain(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil || !strings.Contains(name, ".") || !isHost(name) || strings.ContainsAny(name, ":_") {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return strings.ContainsFunc(name[strings.LastIndexByte(name, '.'):], func(c rune) bool { return 'a' <= c && c <= 'z' }) // no 0x7f.1
}

func stripOrPass(to *bool) value {
	var word string
	v := choice(&word, "pass", "strip")
	read := v.read
	v.read = func(text string) error {
		if err := read(text); err != nil {
			return err
		}
		*to = word == "strip"
		return nil
	}
	return v
}
