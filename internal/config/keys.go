package config

import (
	"fmt"
	"regexp"
	"strings"

	"riftrelay"
	"riftrelay/redisstore"
)

// keys reads "RGAPI-…,name=RGAPI-…". Its messages call a key by its place, or by a name that can be shown.
// What a name and a key may be is riftrelay.Config's rule; a test holds the two together.
func keys(to *[]riftrelay.Key) value {
	return value{
		allowed: "up to 1024 Riot API keys, separated by commas, each RGAPI-… or name=RGAPI-…; a name has 1 to 64 letters, digits, '-', '_' and '.'",
		show: func() string {
			shown := make([]string, len(*to))
			for i, k := range *to {
				shown[i] = k.Name + "=(hidden)"
			}
			return strings.Join(shown, ",")
		},
		read: func(text string) error {
			parts, places, notes := onceEach(strings.Split(unquote(text), ","))
			list, problems := readKeys(parts, func(i int) string { return fmt.Sprintf("key %d", places[i]) })
			if len(problems) > 0 {
				return partsError(problems)
			}
			*to = list
			if len(notes) > 0 {
				return adjusted(strings.Join(notes, "; "))
			}
			return nil
		},
	}
}

// storeURL is shown without its password.
func storeURL(to *string) value {
	return value{
		allowed: "redis://, rediss://, redis+sentinel:// or redis+cluster://, as in redis://:password@host:6379/0",
		show: func() string {
			a, err := redisstore.ParseURL(*to)
			if *to == "" || err != nil {
				return ""
			}
			return a.String()
		},
		read: func(text string) error {
			if _, err := redisstore.ParseURL(text); err != nil {
				return errNotAllowed
			}
			*to = text
			return nil
		},
	}
}

// adminToken reads a token of which nothing is shown but that there is one.
func adminToken(to *string) value {
	const least, most = 16, 256
	return value{
		allowed: fmt.Sprintf("%d to %d visible ASCII characters", least, most),
		show: func() string {
			if *to == "" {
				return ""
			}
			return "(hidden)"
		},
		read: func(text string) error {
			if len(text) < least || len(text) > most || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
				return errNotAllowed
			}
			*to = text
			return nil
		},
	}
}

// partsError is what is wrong with the parts of a value. Each line follows the name of the setting.
type partsError []string

func (f partsError) Error() string { return strings.Join(f, "; ") }

// readKeys reads parts of the form RGAPI-… or name=RGAPI-…; label says which one is meant.
func readKeys(parts []string, label func(int) string) (list []riftrelay.Key, problems []string) {
	const maxKeys, maxName, maxValue = 1024, 64, 256
	if len(parts) > maxKeys {
		return nil, []string{fmt.Sprintf("has %d keys; allowed: at most %d", len(parts), maxKeys)}
	}
	names, values := map[string]int{}, map[string]int{}
	for i, part := range parts {
		bad := func(format string, args ...any) {
			problems = append(problems, label(i)+" "+fmt.Sprintf(format, args...))
		}
		part = unquote(part)
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = fmt.Sprintf("key%d", i), part
		}
		name, value = strings.TrimSpace(name), unquote(value)
		switch {
		case looksLikeKey.MatchString(name):
			bad("has a name that looks like a key, so it is not shown; allowed: name=key")
		case len(name) > maxName || !nameForm.MatchString(name):
			// Not shown: it may as well be part of a key.
			bad("has a wrong name; allowed: 1 to %d letters, digits, '-', '_' and '.'", maxName)
		default:
			if j, dup := names[name]; dup {
				bad("is named %q, as %s is; allowed: each name once", name, label(j))
			}
			names[name] = i
		}
		switch {
		case value == "":
			bad("is empty; allowed: RGAPI-… or name=RGAPI-…")
		case strings.ContainsAny(value, `"'`):
			bad("has a quote in it; allowed: RGAPI-… or name=RGAPI-…, without quotes")
		case len(value) > maxValue || !visible(value):
			bad("is not shown; allowed: 1 to %d visible ASCII characters", maxValue)
		default:
			if j, dup := values[value]; dup {
				bad("is the same as %s; allowed: each key once", label(j))
			}
			values[value] = i
		}
		list = append(list, riftrelay.Key{Name: name, Value: value})
	}
	return list, problems
}

// unquote takes off the spaces around a value, and a pair of quotes: docker --env-file and Windows' set keep them.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if n := len(s); n >= 2 && s[0] == s[n-1] && (s[0] == '"' || s[0] == '\'') {
		return strings.TrimSpace(s[1 : n-1])
	}
	return s
}

// warnOfKeys says which keys can't be Riot's.
func warnOfKeys(list []riftrelay.Key, r *report) {
	for _, k := range list {
		switch {
		case strings.HasPrefix(k.Value, "RGAPI-"):
		default:
			r.warn(fmt.Sprintf("key %s doesn't begin with RGAPI-, as Riot's keys do", k.Name))
		}
	}
}

var (
	nameForm     = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	looksLikeKey = regexp.MustCompile(`(?i)RGAPI-[^\s"'=,;:]*`)
)

// hideKeys takes whatever looks like a key out of a message: people paste keys into the wrong setting.
func hideKeys(message string) string {
	return looksLikeKey.ReplaceAllStringFunc(message, func(s string) string {
		if strings.TrimLeft(s[len("RGAPI-"):], "…") == "" {
			return s // our own RGAPI-…
		}
		return s[:len("RGAPI-")] + "(hidden)"
	})
}

func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// simKeys are the keys of the simulated edge: any text that can be a header.
func simKeys(to *[]string) value {
	return value{
		allowed: "keys of visible ASCII characters, separated by commas",
		show:    func() string { return fmt.Sprintf("%d keys", len(*to)) },
		read: func(text string) error {
			list := strings.Split(text, ",")
			for i, k := range list {
				if list[i] = strings.TrimSpace(k); list[i] == "" || !visible(list[i]) {
					return errNotAllowed
				}
			}
			*to = list
			return nil
		},
	}
}
