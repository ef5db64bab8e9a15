package config

import (
	"fmt"

	"riftrelay"
)

// given reports whether a source has a value for a setting.
func given(name string, sources []source, known []setting) bool {
	for _, k := range known {
		if k.name == name {
			f, _ := k.find(sources, &report{})
			return f.where != byDefault
		}
	}
	return false
}

// finishMargins puts the settings of J in order, J_MIN ≤ ADDITIONAL_WINDOW_SIZE ≤ J_MAX: what isn't set gives way to what is.
func finishMargins(s *Settings, sources []source, known []setting, complain func(string, error)) {
	given := func(name string) bool { return given(name, sources, known) }
	const margin, least, most = "ADDITIONAL_WINDOW_SIZE", "J_MIN", "J_MAX"
	if !given(least) {
		s.MinMargin = min(riftrelay.DefaultMinMargin, s.Margin)
		if given(most) {
			s.MinMargin = min(s.MinMargin, s.MaxMargin)
		}
	}
	if !given(most) {
		s.MaxMargin = max(riftrelay.DefaultMaxMargin, s.MinMargin, s.Margin)
	}
	if !given(margin) {
		s.Margin = min(max(s.Margin, s.MinMargin), s.MaxMargin)
	}
	switch {
	case s.MinMargin > s.MaxMargin:
		complain(most, fmt.Errorf("%s is %v, which is more", least, shortDuration(s.MinMargin)))
	case s.Margin < s.MinMargin:
		complain(margin, fmt.Errorf("%s is %v, which is more", least, shortDuration(s.MinMargin)))
	case s.Margin > s.MaxMargin:
		complain(margin, fmt.Errorf("%s is %v, which is less", most, shortDuration(s.MaxMargin)))
	}
	for i, e := range s.effective {
		if e.Source != byDefault {
			continue
		}
		switch e.Name {
		case margin:
			s.effective[i].Value = shortDuration(s.Margin)
		case least:
			s.effective[i].Value = shortDuration(s.MinMargin)
		case most:
			s.effective[i].Value = shortDuration(s.MaxMargin)
		}
	}
}
