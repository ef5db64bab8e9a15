package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"riftrelay"
	"riftrelay/internal/limit"
)

// The relay's first version accepted values that mean nothing here, or more than there can be. They keep a relay from
// starting no more than they did there: what is meant is used, and a warning says what that is.

// adjusted is what a value's read says when it has kept something other than the text.
type adjusted string

func (a adjusted) Error() string { return string(a) }

// within uses the nearest value that is allowed where a duration is out of bounds.
func within(to *time.Duration, least, most time.Duration, zero string) value {
	v := duration(to, least, most, zero)
	read := v.read
	v.read = func(text string) error {
		d, ok := parseDuration(text)
		if !ok || d >= least && d <= most {
			return read(text)
		}
		*to = min(max(d, least), most)
		return adjusted(fmt.Sprintf("%s is used, as the nearest value", shortDuration(*to)))
	}
	v.show = func() string { return shortDuration(*to) }
	return v
}

// atMost uses the most where a number is larger.
func atMost(to *int, most int) value {
	v := number(to, most)
	read := v.read
	v.read = func(text string) error {
		if digits := strings.TrimPrefix(text, "+"); digits == "" || strings.Trim(digits, "0123456789") != "" || read(text) == nil {
			return read(text)
		}
		*to = most
		return adjusted(fmt.Sprintf("%d is used, as the nearest value", most))
	}
	v.show = func() string { return fmt.Sprint(*to) }
	return v
}

// tolerantQuotas reads limits with spaces, signs and empty parts, and uses the nearest ones to those that are too large. Of
// two limits for one window it uses the lower one.
func tolerantQuotas(to *string) value {
	v := quotas(to)
	read := v.read
	v.read = func(text string) error {
		if read(text) == nil {
			return nil
		}
		type quota struct{ calls, seconds int }
		var kept []quota
		for part := range strings.SplitSeq(text, ",") {
			if strings.TrimSpace(part) == "" {
				continue
			}
			calls, seconds, _ := strings.Cut(part, ":")
			var q quota
			var err error
			if q.calls, err = strconv.Atoi(strings.TrimSpace(calls)); err != nil || q.calls <= 0 {
				return errNotAllowed
			}
			if q.seconds, err = strconv.Atoi(strings.TrimSpace(seconds)); err != nil || q.seconds <= 0 {
				return errNotAllowed
			}
			q = quota{min(q.calls, limit.MaxCount), min(q.seconds, limit.MaxSeconds)}
			same := slices.IndexFunc(kept, func(k quota) bool { return k.seconds == q.seconds })
			if same >= 0 {
				kept[same].calls = min(kept[same].calls, q.calls)
			} else if len(kept) < limit.MaxQuotas {
				kept = append(kept, q)
			}
		}
		var clean []string
		for _, q := range kept {
			clean = append(clean, fmt.Sprintf("%d:%d", q.calls, q.seconds))
		}
		used := cmp.Or(strings.Join(clean, ","), riftrelay.DefaultAppLimit)
		if err := read(used); err != nil {
			return err
		}
		return adjusted(used + " is used")
	}
	v.show = func() string { return *to }
	return v
}

// onceEach leaves empty parts and keys that came before out of a list of keys. Keys are named by their places, which places
// has of those that are kept.
func onceEach(parts []string) (kept []string, places []int, notes []string) {
	first := map[string]int{}
	for i, part := range parts {
		_, key, named := strings.Cut(part, "=")
		if !named {
			key = part
		}
		if key = strings.TrimSpace(key); strings.TrimSpace(part) == "" {
			notes = append(notes, fmt.Sprintf("part %d is empty and is left out", i))
			continue
		}
		if j, again := first[key]; again && key != "" {
			notes = append(notes, fmt.Sprintf("key %d is the same as key %d and is used once; later keys move up by one place", i, j))
			continue
		}
		first[key] = i
		kept, places = append(kept, part), append(places, i)
	}
	return kept, places, notes
}
