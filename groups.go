package riftrelay

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"riftrelay/route"
)

// Group sends some calls on keys of their own, such as those of a tournament
// application. Its keys are named like it, "tournament", or with a number
// behind, "tournament.2". Keys of no group serve the calls of no group; a call
// never leaves its group.
type Group struct {
	Name  string
	Paths []string // beginnings of Riot's paths, "/lol/tournament/"; the longest that fits counts
	Hosts []string // routing values, "kr", for the paths that no group names
}

// grouping finds the group of a call and of a key: 0 is the default one. It
// never changes.
type grouping struct {
	names []string // of groups from 1
	paths []groupRule
	hosts map[string]int
}

type groupRule struct {
	prefix string
	group  int
}

func newGrouping(groups []Group) (grouping, error) {
	g := grouping{hosts: map[string]int{}}
	bad := func(i int, field string, value any, allowed string) error {
		return fmt.Errorf("riftrelay: Config.Groups[%d].%s is %q; allowed: %s", i, field, value, allowed)
	}
	for i, group := range groups {
		n := i + 1
		switch {
		case !validName(group.Name):
			return g, bad(i, "Name", group.Name, "1 to 64 letters, digits, '-', '_' and '.'")
		case groupName(group.Name) != group.Name:
			return g, bad(i, "Name", group.Name, "a name without a number behind a dot, which tells keys of a group apart")
		case slices.Contains(g.names, group.Name):
			return g, bad(i, "Name", group.Name, "each name once")
		case len(group.Paths)+len(group.Hosts) == 0:
			return g, fmt.Errorf("riftrelay: Config.Groups[%d] (%s) has no calls; allowed: at least one of Paths and Hosts", i, group.Name)
		}
		g.names = append(g.names, group.Name)
		for _, p := range group.Paths {
			if len(p) < 2 || p[0] != '/' || strings.ContainsAny(p, "%?#{ ") {
				return g, bad(i, "Paths", p, "the literal beginning of a path, /lol/tournament/")
			}
			if slices.ContainsFunc(g.paths, func(r groupRule) bool { return r.prefix == p }) {
				return g, bad(i, "Paths", p, "each beginning once")
			}
			g.paths = append(g.paths, groupRule{p, n})
		}
		for _, h := range group.Hosts {
			if _, twice := g.hosts[h]; h == "" || twice {
				return g, bad(i, "Hosts", h, "routing values, each once")
			}
			g.hosts[h] = n
		}
	}
	slices.SortStableFunc(g.paths, func(a, b groupRule) int { return cmp.Compare(len(b.prefix), len(a.prefix)) })
	return g, nil
}

func (g *grouping) size() int { return 1 + len(g.names) }

// check reports a group that has no key.
func (g *grouping) check(keys []Key) error {
	for i, name := range g.names {
		if !slices.ContainsFunc(keys, func(k Key) bool { return groupName(k.Name) == name }) {
			return fmt.Errorf("riftrelay: Config.Groups[%d].Name is %q, and no key is of that group; allowed: the name of a key, or what comes before the number in it", i, name)
		}
	}
	return nil
}

// groupName returns the name of the group that a key could be of: "tournament"
// for "tournament.2".
func groupName(key string) string {
	i := strings.LastIndexByte(key, '.')
	if i < 1 || i == len(key)-1 || strings.Trim(key[i+1:], "0123456789") != "" {
		return key
	}
	return key[:i]
}

func (g *grouping) ofKey(name string) int { return 1 + slices.Index(g.names, groupName(name)) }

// of returns the group of a call.
func (g *grouping) of(r route.Route, o *Options) int {
	if o.own != nil && o.own.slot >= 0 {
		return g.size() + o.own.slot
	}
	if len(g.names) == 0 {
		return 0
	}
	path := r.Method.Template
	if o.choice != nil && !strings.HasPrefix(path, "/") {
		path = o.choice.path // one that no template describes
	}
	for _, rule := range g.paths {
		if strings.HasPrefix(path, rule.prefix) {
			return rule.group
		}
	}
	return g.hosts[r.Host]
}

// plainPath undoes the escaping of a path, so that an unlisted one can't slip
// past its group.
func plainPath(escaped string) string {
	if plain, err := url.PathUnescape(escaped); err == nil {
		return plain
	}
	return escaped
}
