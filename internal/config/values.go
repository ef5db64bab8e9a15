package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"riftrelay"
	"riftrelay/internal/limit"
)

// value is how the text of a setting is understood.
type value struct {
	allowed string                  // what is allowed, in words
	toggle  bool                    // the flag alone means true
	words   []string                // all that is allowed, if it is so few; for completion
	file    bool                    // it names a file
	read    func(text string) error // keeps what text says; text is trimmed
	show    func() string           // what was kept, without secrets; nil = the text itself
}

// errNotAllowed is a value that is wrong for no other reason than that it isn't what is allowed.
var errNotAllowed = errors.New("")

func number(to *int, most int) value { return between(to, 0, most) }

func between(to *int, least, most int) value {
	return value{
		allowed: fmt.Sprintf("a whole number from %d to %d", least, most),
		read: func(text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || n < least || n > most {
				return errNotAllowed
			}
			*to = n
			return nil
		},
	}
}

// mostReplicas is how many relays a demo may have.
const mostReplicas = 8

func replicas(to *int) value {
	return value{
		allowed: fmt.Sprintf("a whole number from 1 to %d", mostReplicas),
		read: func(text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > mostReplicas {
				return errNotAllowed
			}
			*to = n
			return nil
		},
	}
}

func seed(to *uint64) value {
	return value{
		allowed: "a whole number, 0 or more",
		read: func(text string) error {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return errNotAllowed
			}
			*to = n
			return nil
		},
	}
}

// duration takes Go's notation, or whole seconds. zero says what 0 means, if it doesn't go without saying.
func duration(to *time.Duration, least, most time.Duration, zero string) value {
	allowed := fmt.Sprintf("%v to %v, as in 90s, 1m30s or 150ms; a bare number is seconds", shortDuration(least), shortDuration(most))
	if zero != "" {
		allowed += "; 0 = " + zero
	}
	return value{
		allowed: allowed,
		read: func(text string) error {
			d, ok := parseDuration(text)
			if !ok || d < least || d > most {
				return errNotAllowed
			}
			*to = d
			return nil
		},
	}
}

func parseDuration(text string) (time.Duration, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(n) * time.Second, n >= 0 && n <= int64(math.MaxInt64/time.Second)
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

// shortDuration writes 5m for what time.Duration calls 5m0s.
func shortDuration(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d%time.Minute == 0:
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	}
	return d.String()
}

func toggle(to *bool) value {
	return value{
		allowed: "true or false (also 1 and 0, yes and no, on and off)",
		toggle:  true,
		words:   []string{"true", "false"},
		read: func(text string) error {
			switch strings.ToLower(text) {
			case "true", "t", "1", "yes", "y", "on":
				*to = true
			case "false", "f", "0", "no", "n", "off":
				*to = false
			default:
				return errNotAllowed
			}
			return nil
		},
	}
}

func choice(to *string, allowed ...string) value {
	return value{
		allowed: strings.Join(allowed[:len(allowed)-1], ", ") + " or " + allowed[len(allowed)-1],
		words:   allowed,
		read: func(text string) error {
			for _, a := range allowed {
				if strings.EqualFold(text, a) {
					*to = a
					return nil
				}
			}
			return errNotAllowed
		},
	}
}

func forward(to *bool) value {
	var word string
	v := choice(&word, "refuse", "forward")
	read := v.read
	v.read = func(text string) error {
		if err := read(text); err != nil {
			return err
		}
		*to = word == "forward"
		return nil
	}
	return v
}

func logLevel(to *slog.Level) value {
	var word string
	v := choice(&word, "debug", "info", "warn", "error")
	read := v.read
	v.read = func(text string) error {
		if err := read(text); err != nil {
			return err
		}
		return to.UnmarshalText([]byte(word))
	}
	return v
}

func pacing(to *riftrelay.Pacing) value {
	return value{
		allowed: "balanced, spread, burst or a number from 0 to 1",
		words:   []string{"balanced", "spread", "burst"},
		read: func(text string) error {
			switch strings.ToLower(text) {
			case "balanced":
				*to = riftrelay.PacingBalanced
				return nil
			case "spread":
				*to = riftrelay.PacingSpread
				return nil
			case "burst":
				*to = riftrelay.PacingBurst
				return nil
			}
			b, err := strconv.ParseFloat(text, 64)
			if err != nil || !(b >= 0 && b <= 1) { // also refuses NaN
				return errNotAllowed
			}
			*to = riftrelay.PacingShare(b)
			return nil
		},
	}
}

func quotas(to *string) value {
	return value{
		allowed: "calls:seconds, separated by commas, as in 20:1,100:120",
		read: func(text string) error {
			if _, err := limit.ParseQuotas(text); err != nil || text == "" {
				return errNotAllowed
			}
			*to = text
			return nil
		},
	}
}

// text is checked later, with the settings and files that it depends on.
func text(to *string, allowed string) value {
	return value{allowed: allowed, read: func(text string) error { *to = text; return nil }}
}

func retry(to *riftrelay.Retry) value {
	return value{
		allowed: "500 to 599, reset and timeout, separated by commas",
		read: func(text string) error {
			r, err := parseRetry(text)
			if err != nil {
				return errNotAllowed
			}
			*to = r
			return nil
		},
	}
}

func aliases(to *[]riftrelay.Alias) value {
	return value{
		allowed: "path@host,host with two hosts or more, several separated by semicolons",
		read: func(text string) error {
			a, err := parseAliases(text)
			if err != nil {
				return errNotAllowed
			}
			*to = a
			return nil
		},
	}
}

// file is the name of a file, which is read or written later.
func file(to *string, allowed string) value {
	v := text(to, allowed)
	v.file = true
	return v
}
