package riftrelay

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"riftrelay/route"
)

// Budget is a ceiling for the calls that name it in Options.Budget, such as
// those of a crawler: of every window of Riot's they use at most a share, for
// each key and host, and each method there. They are paced as if that share
// were the limit. A budget reserves nothing for its own calls, and never holds
// up others.
type Budget struct {
	// Name is 1 to 64 letters, digits, '-' and '_'; its case counts only
	// where another name differs in nothing else.
	// "default" is no budget's name: it means none.
	Name string

	// Share is above 0 and at most 1. At least one call of a window may be used.
	Share float64

	// Hard budgets hold back calls of high priority too. Those count for the
	// others, and only Riot's limits hold them back.
	Hard bool

	// Overrides are other shares for some methods or hosts. The longest path
	// that fits counts, and of two equal ones the one with a host.
	Overrides []ShareOverride
}

// ShareOverride is another share of a budget for the methods of one template. The
// calls of each such method use at most that share of its windows, and of the
// application's. Where it is less than the budget's, the budget's bounds them as
// well. Where it is more, they go on until all of the budget's calls reach it.
type ShareOverride struct {
	Host  string // routing value, "kr"; empty means every host
	Path  string // template of methods, "/lol/match/v5/matches/{matchId}"; "/" is all methods of a host, and its application's windows
	Share float64

	// Below has the override apply to all methods whose templates begin with Path
	// in whole parts, as in "/lol/match/v5". It then changes the methods' windows
	// only: the budget's own share bounds all of its calls in the application's.
	Below bool
}

// NoBudget as Options.Budget is the same as an empty one.
const NoBudget = "default"

// MaxBudgets bounds the budgets, and the overrides of each.
const MaxBudgets = 250

func validShare(share float64) bool { return share > 0 && share <= 1 } // also refuses NaN

// check reports what is wrong with a budget for calls of a table, which field
// and what is allowed.
func (b Budget) check(table *route.Table) (field string, value any, allowed string) {
	name := strings.ToLower(b.Name)
	switch {
	case !validName(name) || strings.Contains(name, "."):
		return "Name", strconv.Quote(b.Name), "1 to 64 letters, digits, '-' and '_'"
	case name == NoBudget:
		return "Name", strconv.Quote(b.Name), "any other: this one means no budget"
	case !validShare(b.Share):
		return "Share", b.Share, "above 0, at most 1"
	case len(b.Overrides) > MaxBudgets:
		return "Overrides", fmt.Sprintf("%d long", len(b.Overrides)), fmt.Sprintf("at most %d", MaxBudgets)
	}
	for i, o := range b.Overrides {
		switch {
		case !o.Fits(table):
			return fmt.Sprintf("Overrides[%d].Path", i), strconv.Quote(o.Path), "a method's template, as in /lol/match/v5/matches/{matchId}, or with Below its beginning, in whole parts"
		case !validShare(o.Share):
			return fmt.Sprintf("Overrides[%d].Share", i), o.Share, "above 0, at most 1"
		case slices.ContainsFunc(b.Overrides[:i], func(p ShareOverride) bool { return p.Host == o.Host && p.Path == o.Path && p.Below == o.Below }):
			return fmt.Sprintf("Overrides[%d]", i), strconv.Quote(o.Host + ":" + o.Path), "each host and path once"
		}
	}
	return "", nil, ""
}

// checkBudgets reports what is wrong with the budgets.
func (c Config) checkBudgets(bad func(field string, value any, allowed string)) {
	if len(c.Budgets) > MaxBudgets {
		bad("Budgets", fmt.Sprintf("%d long", len(c.Budgets)), fmt.Sprintf("at most %d", MaxBudgets))
		return
	}
	for i, b := range c.Budgets {
		if field, value, allowed := b.check(c.Table); field != "" {
			bad(fmt.Sprintf("Budgets[%d].%s", i, field), value, allowed)
		}
		if slices.ContainsFunc(c.Budgets[:i], func(o Budget) bool { return o.Name == b.Name }) {
			bad(fmt.Sprintf("Budgets[%d].Name", i), strconv.Quote(b.Name), "each name once")
		}
	}
}

// fits reports whether the override is for a method's template, or for the empty
// path of an application's scope.
func (o ShareOverride) fits(template string) bool {
	if o.below() {
		return strings.HasPrefix(template+"/", strings.TrimSuffix(o.Path, "/")+"/")
	}
	return template != "" && anyNames(template) == anyNames(o.Path)
}

func (o ShareOverride) below() bool { return o.Below || o.Path == "/" }

var parameters = regexp.MustCompile(`\{[^{}/]*\}`)

// anyNames leaves the names of parameters out of a template: programs name them differently.
func anyNames(template string) string { return parameters.ReplaceAllString(template, "{}") }

// Fits reports whether the override is for any method of a table.
func (o ShareOverride) Fits(table *route.Table) bool {
	return o.Path == "/" || o.Path != "" && o.Path[0] == '/' && slices.ContainsFunc(table.Methods(), func(m *route.Method) bool { return o.fits(m.Template) })
}

// share returns the budget's share of a scope's windows: of the application's on
// a host, where method is empty, or of a method's.
func (b Budget) share(host, method string) float64 {
	path := method
	if _, other, ok := strings.Cut(method, " "); ok {
		path = other // of "PUT /lol/…"
	}
	share, best := b.Share, 0
	for _, o := range b.Overrides {
		if o.Host != "" && o.Host != host || !o.fits(path) {
			continue
		}
		rank := 2 * len(o.Path)
		if o.Host != "" {
			rank++
		}
		if rank > best {
			share, best = o.Share, rank
		}
	}
	return share
}

// cloneBudgets has what the caller does to his list change nothing.
func cloneBudgets(budgets []Budget) []Budget {
	own := slices.Clone(budgets)
	for i := range own {
		own[i].Overrides = slices.Clone(own[i].Overrides)
	}
	return own
}

// knownBudget returns a budget's name as it was configured. It returns an empty
// name for no budget and for one that isn't configured.
func (l *Limiter) knownBudget(name string) string {
	id, _ := l.budget(name)
	return l.budgetName(id)
}

// budgetNames lists what Options.Budget may be.
func (l *Limiter) budgetNames() string {
	var b strings.Builder
	for _, budget := range l.cfg.Budgets {
		b.WriteString(budget.Name + ", ")
	}
	return b.String() + NoBudget
}
