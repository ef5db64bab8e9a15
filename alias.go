package riftrelay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Alias says that the methods under a path have one budget over several hosts,
// as TFT-SUMMONER-V1 was seen to have on euw1, eun1, tr1 and ru (R8).
type Alias struct {
	Path  string   // "/tft/summoner/v1": the methods whose templates begin so
	Hosts []string // two or more
}

// ParseAliases reads "tft/summoner/v1@euw1,eun1,tr1,ru; tft/match/v1@asia,sea".
func ParseAliases(s string) ([]Alias, error) {
	var aliases []Alias
	for item := range strings.SplitSeq(s, ";") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		path, hosts, ok := strings.Cut(item, "@")
		a := Alias{Path: "/" + strings.Trim(strings.TrimSpace(path), "/")}
		for h := range strings.SplitSeq(hosts, ",") {
			a.Hosts = append(a.Hosts, strings.TrimSpace(h))
		}
		if !ok || !a.valid() {
			return nil, fmt.Errorf("riftrelay: %q is no shared budget; allowed: path@host,host, as in tft/summoner/v1@euw1,eun1", item)
		}
		aliases = append(aliases, a)
	}
	return aliases, nil
}

func (a Alias) valid() bool {
	return len(a.Path) > 1 && a.Path[0] == '/' && len(a.Hosts) > 1 && !slices.Contains(a.Hosts, "")
}

// sharedMethods names, for admission, what the aliases make one.
func sharedMethods(aliases []Alias) func(host, method string) string {
	if len(aliases) == 0 {
		return nil
	}
	return func(host, method string) string {
		if i := aliasOf(aliases, host, method); i >= 0 {
			return strconv.Itoa(i) + " " + method
		}
		return ""
	}
}

// dividedMethods returns, for admission with a Store, how many hosts share a
// method's limit. A store keeps each host by itself: on a cluster, hosts lie on
// different servers. So each host has its part.
func dividedMethods(aliases []Alias) func(host, method string) int {
	if len(aliases) == 0 {
		return nil
	}
	return func(host, method string) int {
		if i := aliasOf(aliases, host, method); i >= 0 {
			return len(aliases[i].Hosts)
		}
		return 1
	}
}

// aliasOf returns the place of the first alias for a method on a host, or -1.
func aliasOf(aliases []Alias, host, method string) int {
	_, path, other := strings.Cut(method, " ") // "PUT /lol/…"
	if !other {
		path = method
	}
	return slices.IndexFunc(aliases, func(a Alias) bool {
		under := strings.TrimSuffix(a.Path, "/") + "/"
		return strings.HasPrefix(path+"/", under) && slices.Contains(a.Hosts, host)
	})
}
