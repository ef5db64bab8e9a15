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

// finishMargins puts the settings of the margin in order, MARGIN ≤ MARGIN_MAX: what isn't set gives way to what is.
func finishMargins(s *Settings, sources []source, known []setting, complain func(string, error)) {
	given := func(name string) bool { return given(name, sources, known) }
	const least, most = "MARGIN", "MARGIN_MAX"
	if !given(most) {
		s.MaxMargin = max(riftrelay.DefaultMaxMargin, s.Margin)
	}
	if !given(least) {
		s.Margin = min(s.Margin, s.MaxMargin)
	}
	if s.Margin > s.MaxMargin {
		complain(most, fmt.Errorf("%s is %v, which is more", least, shortDuration(s.Margin)))
	}
	for i, e := range s.effective {
		if e.Source != byDefault {
			continue
		}
		switch e.Name {
		case least:
			s.effective[i].Value = shortDuration(s.Margin)
		case most:
			s.effective[i].Value = shortDuration(s.MaxMargin)
		}
	}
}
