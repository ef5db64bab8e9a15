package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"riftrelay"
)

// A family is a declaration for settings of many names: <id> stands for what users put there. They can be set everywhere
// but on the command line.
const (
	familyID     = "<id>"
	budgetPrefix = "RATE_BUDGET_"
	overrides    = "_OVERRIDES"

	// What the paths of overrides stand for.
	overrideEndpoint = "endpoint"
	overrideBelow    = "below"
)

func (s setting) isFamily() bool { return strings.Contains(s.name, familyID) }

// withoutFamilies returns those that have a flag.
func withoutFamilies(list []setting) []setting {
	return slices.DeleteFunc(slices.Clone(list), setting.isFamily)
}

// idOf returns the id that makes a name of the family's.
func (s setting) idOf(name string) (string, bool) {
	before, after, _ := strings.Cut(s.name, familyID)
	id, ok := strings.CutPrefix(name, before)
	if after == "" {
		ok = ok && !strings.HasSuffix(id, overrides)
	} else if ok {
		id, ok = strings.CutSuffix(id, after)
	}
	return id, ok && id != ""
}

// inFamily reports whether a name is that of a setting of a family.
func inFamily(name string, known []setting) bool {
	return slices.ContainsFunc(known, func(s setting) bool {
		_, ok := s.idOf(name)
		return s.isFamily() && ok
	})
}

// expand puts in the place of each family the settings of it that some source has, sorted by id.
func expand(list []setting, sources []source, r *report) []setting {
	var all []setting
	matters := caseMatters(sources)
	for _, s := range list {
		if !s.isFamily() {
			all = append(all, s)
			continue
		}
		found := map[string]setting{}
		for _, src := range sources {
			here := map[string]string{}
			for _, name := range src.names {
				id, ok := s.idOf(name)
				if !ok {
					continue
				}
				if base, bucket := splitID(id); !matters[strings.ToLower(base)] {
					id = strings.ToLower(base) + bucket
				}
				if other, twice := here[id]; twice {
					r.bad(name, fmt.Sprintf("%s is the same as %s, also set %s; allowed: each id once, whatever its case", name, other, src.where))
				}
				here[id] = name
				one, known := found[id]
				if !known {
					one = s
					one.name, one.value = name, s.each(id)
				} else if one.name != name {
					one.aliases = append(slices.Clone(one.aliases), name)
				}
				found[id] = one
			}
		}
		members := make([]setting, 0, len(found))
		for _, one := range found {
			members = append(members, one)
		}
		slices.SortFunc(members, func(a, b setting) int { return cmp.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) })
		all = append(all, members...)
	}
	return all
}

// splitID splits the id of a budget from what the relay's first version let follow it: RATE_BUDGET_worker:lol/…=0.6.
func splitID(text string) (id, bucket string) {
	if i := strings.IndexByte(text, ':'); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// caseMatters finds the ids, in lower case, of budgets that one source has in several spellings: they are several budgets.
func caseMatters(sources []source) map[string]bool {
	matters := map[string]bool{}
	for _, src := range sources {
		spelled := map[string]string{}
		for _, name := range src.names {
			id, ok := strings.CutPrefix(name, budgetPrefix)
			if id, _ = splitID(id); !ok || id == "" || strings.HasSuffix(id, overrides) {
				continue
			}
			lower := strings.ToLower(id)
			if other, seen := spelled[lower]; seen && other != id {
				matters[lower] = true
			}
			spelled[lower] = id
		}
	}
	return matters
}

// namesIn lists, in a fixed order, the names of families among the names of a source.
func namesIn[V any](values map[string]V) []string {
	var names []string
	for name := range values {
		if strings.HasPrefix(name, budgetPrefix) || strings.HasPrefix(name, clientPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

var budgetID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// budgetShare reads the share of the budget id.
func (d *draft) budgetShare(id string) value {
	const allowed = "a share above 0 and at most 1, as in 0.3"
	return value{allowed: allowed, read: func(text string) error {
		id, bucket := splitID(id)
		share, err := strconv.ParseFloat(text, 64)
		if err != nil || !(share > 0 && share <= 1) { // also refuses NaN
			return errNotAllowed
		}
		if !budgetID.MatchString(id) || id == riftrelay.NoBudget {
			return partsError{fmt.Sprintf("has the id %q; allowed: 1 to 64 letters, digits, '_' and '-', not %s", id, riftrelay.NoBudget)}
		}
		if bucket != "" {
			return d.override(id, bucket[1:]+"="+text)
		}
		d.budget(id).Share = share
		return nil
	}}
}

// budgetOverrides reads the overrides of the budget id.
func (d *draft) budgetOverrides(id string) value {
	return value{allowed: "[host:]path=share, separated by commas, as in kr:lol/match/v5/matches/{matchId}=0.2", read: func(text string) error {
		return d.override(id, text)
	}}
}

// override adds overrides to the budget id. The last one for a host and path counts.
func (d *draft) override(id, text string) error {
	list, err := parseOverrides(text)
	if err != nil {
		return err
	}
	b := d.budget(id)
	err = nil
	for _, o := range list {
		same := func(p riftrelay.ShareOverride) bool { return p.Host == o.Host && p.Path == o.Path }
		if slices.ContainsFunc(b.Overrides, same) {
			b.Overrides = slices.DeleteFunc(b.Overrides, same)
			err = adjusted(fmt.Sprintf("the share of %s is set twice, and %v is used", strings.TrimPrefix(o.Host+":"+o.Path, ":"), o.Share))
		}
		b.Overrides = append(b.Overrides, o)
	}
	return err
}

// budget returns the draft of a budget, made if need be.
func (d *draft) budget(id string) *riftrelay.Budget {
	i := slices.IndexFunc(d.budgets, func(b riftrelay.Budget) bool { return b.Name == id })
	if i < 0 {
		i = len(d.budgets)
		d.budgets = append(d.budgets, riftrelay.Budget{Name: id})
	}
	return &d.budgets[i]
}
