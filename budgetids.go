package riftrelay

import (
	"slices"
	"strconv"
	"strings"

	"riftrelay/internal/window"
	"riftrelay/route"
)

// budgetIDs knows by which id admission has a call's budget. An override for one
// method has an id of its own, because its calls have a ceiling of their own in
// the application's windows.
type budgetIDs struct {
	byName map[string]uint16 // also in lower case, where that isn't another's
	of     []uint16          // by id from 1: the budget's
	share  []float64         // by id from 1
	at     map[budgetAt]uint16
	some   []bool // by id from 1: whether the budget has such overrides
}

// budgetAt is a method, on one host or all, for calls of a budget.
type budgetAt struct {
	budget         uint16
	host, template string
}

func newBudgetIDs(budgets []Budget, table *route.Table) budgetIDs {
	ids := budgetIDs{byName: make(map[string]uint16, len(budgets)), at: map[budgetAt]uint16{}}
	for i, b := range budgets {
		ids.byName[strings.ToLower(b.Name)] = uint16(i + 1)
		ids.of, ids.share, ids.some = append(ids.of, uint16(i+1)), append(ids.share, b.Share), append(ids.some, false)
	}
	for i, b := range budgets {
		ids.byName[b.Name] = uint16(i + 1)
		for _, o := range b.Overrides {
			if o.below() {
				continue
			}
			ids.of, ids.share = append(ids.of, uint16(i+1)), append(ids.share, o.Share)
			ids.some[i] = true
			for _, m := range table.Methods() {
				if o.fits(m.Template) {
					ids.at[budgetAt{uint16(i + 1), o.Host, m.Template}] = uint16(len(ids.of))
				}
			}
		}
	}
	return ids
}

// on returns the id of a budget's calls for a route.
func (ids budgetIDs) on(budget uint16, r route.Route) uint16 {
	if budget == 0 || !ids.some[budget-1] {
		return budget
	}
	if id, ok := ids.at[budgetAt{budget, r.Host, r.Method.Template}]; ok {
		return id
	}
	if id, ok := ids.at[budgetAt{budget, "", r.Method.Template}]; ok {
		return id
	}
	return budget
}

// application returns the budgets' shares of an application's windows. The calls of
// a budget are charged on its ceiling, and on those of its overrides that are larger:
// these count all of its calls. The calls of an override that is smaller have both
// ceilings; those of a larger one may go beyond the budget's.
func (ids budgetIDs) application(shares []float64) []window.Share {
	list := make([]window.Share, len(ids.of))
	larger := make([][]uint16, len(shares))
	for i, of := range ids.of {
		if i >= len(shares) && ids.share[i] > shares[of-1] {
			larger[of-1] = append(larger[of-1], uint16(i+1))
		}
	}
	for i, of := range ids.of {
		id, budget := uint16(i+1), of
		switch {
		case id == budget:
			list[i] = window.Share{Of: shares[i], On: []uint16{id}, Bind: 1}
		case ids.share[i] > shares[budget-1]:
			list[i] = window.Share{Of: ids.share[i], On: []uint16{id, budget}, Bind: 1}
		default:
			list[i] = window.Share{Of: ids.share[i], On: []uint16{id, budget}, Bind: 2}
		}
		for _, other := range larger[budget-1] {
			if other != id {
				list[i].On = append(list[i].On, other)
			}
		}
	}
	return list
}

// method returns the budgets' shares of a method's windows.
func (ids budgetIDs) method(shares []float64) []window.Share {
	list := make([]window.Share, len(ids.of))
	for i := range list {
		list[i].Of = ids.share[i]
		if i < len(shares) {
			list[i].Of = shares[i]
		}
	}
	return list
}

// sharesOf returns, for admission, the budgets' shares of a scope.
func sharesOf(budgets []Budget, ids budgetIDs) func(host, method string) []window.Share {
	if len(budgets) == 0 {
		return nil
	}
	same := make([]float64, len(budgets)) // for the many scopes that no override is for
	for i, b := range budgets {
		same[i] = b.Share
	}
	application, methods := ids.application(same), ids.method(same)
	return func(host, method string) []window.Share {
		shares := make([]float64, len(budgets))
		for i, b := range budgets {
			shares[i] = b.share(host, method)
		}
		switch equal := slices.Equal(shares, same); {
		case method == "" && equal:
			return application
		case method == "":
			return ids.application(shares)
		case equal:
			return methods
		}
		return ids.method(shares)
	}
}

// isWhole reports whether an id is that of a budget, and not of an override.
func (ids budgetIDs) isWhole(id uint16) bool { return ids.of[id-1] == id }

// budget returns the id of a call's budget, 0 for none.
func (l *Limiter) budget(name string) (id uint16, known bool) {
	if name == "" {
		return 0, true
	}
	if id, known = l.budgets.byName[name]; known {
		return id, true
	}
	name = strings.ToLower(name)
	id, known = l.budgets.byName[name]
	return id, known || name == NoBudget
}

// budgetName returns a budget's name as it was configured; empty for none.
func (l *Limiter) budgetName(id uint16) string {
	if id == 0 {
		return ""
	}
	return l.cfg.Budgets[l.budgets.of[id-1]-1].Name
}

// isHard reports whether a budget holds back calls of high priority.
func (l *Limiter) isHard(id uint16) bool {
	return l.cfg.Budgets[l.budgets.of[id-1]-1].Hard
}

// Alias says that the methods under a path have one budget over several hosts,
// as TFT-SUMMONER-V1 was seen to have on euw1, eun1, tr1 and ru (R8).
type Alias struct {
	Path  string   // "/tft/summoner/v1": the methods whose templates begin so
	Hosts []string // two or more
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
