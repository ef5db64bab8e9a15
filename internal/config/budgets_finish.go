package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"riftrelay"
)

// hard reads which budgets are hard.
func (d *draft) hard() value {
	return value{allowed: "ids of RATE_BUDGET_<id>, separated by commas, or *", read: func(text string) error {
		d.hardBudgets = nil
		for id := range strings.SplitSeq(text, ",") {
			if id = strings.TrimSpace(id); id != "" {
				d.hardBudgets = append(d.hardBudgets, id)
			}
		}
		return nil
	}, show: func() string { return strings.Join(d.hardBudgets, ",") }}
}

// markBudgets sets what other settings say of the budgets.
func (d *draft) markBudgets(r *report) {
	for _, id := range d.hardBudgets {
		known := id == "*"
		for i := range d.budgets {
			if b := &d.budgets[i]; id == "*" || strings.EqualFold(b.Name, id) {
				b.Hard, known = true, true
			}
		}
		if !known {
			r.bad("HARD_BUDGETS", fmt.Sprintf("HARD_BUDGETS has %q; allowed: ids of RATE_BUDGET_<id>, separated by commas, or *", id))
		}
	}
	for i := range d.budgets {
		for j := range d.budgets[i].Overrides {
			d.budgets[i].Overrides[j].Below = d.overridesBelow == overrideBelow
		}
	}
}

// finishBudgets checks what depends on several settings. complain has the name of the setting that is wrong.
func (d *draft) finishBudgets(s *Settings, settings []setting, complain func(string, error), r *report) {
	slices.SortFunc(d.budgets, func(a, b riftrelay.Budget) int { return cmp.Compare(a.Name, b.Name) })
	wrong := func(id, suffix string, err error) {
		for _, known := range settings {
			if strings.EqualFold(known.name, budgetPrefix+id+suffix) || suffix == overrides && strings.HasPrefix(known.name, budgetPrefix+id+":") {
				complain(known.name, err)
				return
			}
		}
	}
	d.markBudgets(r)
	for i, b := range d.budgets {
		if b.Share == 0 {
			wrong(b.Name, overrides, fmt.Errorf("there is no %s%s to override", budgetPrefix, strings.ToUpper(b.Name)))
			continue
		}
		if s.Table != nil && !r.wrong[budgetPrefix+b.Name] {
			d.budgets[i].Overrides = slices.DeleteFunc(b.Overrides, func(o riftrelay.ShareOverride) bool { return d.matchesNothing(s, b, o, r) })
		}
		if s.Table != nil && len(d.budgets[i].Overrides) > riftrelay.MaxBudgets {
			wrong(b.Name, overrides, fmt.Errorf("%d overrides, more than %d", len(b.Overrides), riftrelay.MaxBudgets))
		}
	}
	s.Budgets = d.budgets
	if len(d.budgets) > riftrelay.MaxBudgets {
		wrong(d.budgets[0].Name, "", fmt.Errorf("one of %d budgets, more than %d", len(d.budgets), riftrelay.MaxBudgets))
	}
}

// matchesNothing reports whether an override is for no method or host of the table, and warns of it.
func (d *draft) matchesNothing(s *Settings, b riftrelay.Budget, o riftrelay.ShareOverride, r *report) bool {
	what := ""
	if o.Host != "" && !s.ForwardUnknownHosts && !slices.Contains(s.Table.Hosts(), o.Host) {
		what = fmt.Sprintf("no host %q", o.Host)
	} else if !o.Fits(s.Table) {
		what = fmt.Sprintf("no method %q", o.Path)
		if o.Below = true; o.Fits(s.Table) {
			what += "; for all methods below that path, set BUDGET_OVERRIDES=" + overrideBelow
		} else if d.overridesBelow == overrideBelow {
			what = fmt.Sprintf("no method under %q", o.Path)
		}
	}
	if what != "" {
		r.warn(fmt.Sprintf("an override of %s%s is not used: there is %s", budgetPrefix, b.Name, what))
	}
	return what != ""
}
