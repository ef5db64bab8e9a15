package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// source is one place where values are.
type source struct {
	where  string // "in .env"
	lookup func(name string) (string, bool)
	names  []string // that it has of families
}

const (
	onCommandLine = "on the command line"
	byDefault     = "by default"
)

// gather lists the sources, the strongest first. What is wrong with a file is reported like a setting.
func gather(env Env, line commandLine, cmd command, known []setting, r *report) []source {
	file := dotEnv(env, known, r)
	variables := env.Names()
	environmentSlips(env, variables, known, r)
	sources := []source{
		{onCommandLine, line.given, nil},
		{"in the environment", env.Lookup, namesIn(nameSet(variables))},
		{"in .env", lookupIn(file), namesIn(file)},
	}
	for _, s := range known {
		if s.name != "CONFIG_FILE" {
			continue
		}
		if f, ok := s.find(sources, r); ok && f.text != "" {
			values := configFile(env, f.text, known, cmd.strict, r)
			sources = append(sources, source{"in " + f.text, lookupIn(values), namesIn(values)})
		}
	}
	return sources
}

// dotEnv reads .env in the working directory; there need not be one. Names that aren't ours are none of our business,
// unless they look like a slip of the pen.
func dotEnv(env Env, known []setting, r *report) map[string]string {
	data, err := env.ReadFile(".env")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		r.bad(".env", fmt.Sprintf(".env can't be read: %v", err))
		return nil
	}
	content := strings.TrimPrefix(string(data), "\ufeff")
	values, err := parseDotEnv(content)
	if err != nil {
		// The library's message quotes the file, keys and all.
		r.bad(".env", fmt.Sprintf(".env has a mistake%s; allowed: NAME=value lines and # comments", wrongLine(content)))
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if near, ok := nearest(name, known); ok {
			r.warn(fmt.Sprintf("%s in .env is not a setting and was ignored; is %s meant?", name, near))
		}
	}
	return values
}

// environmentSlips warns of variables that are one slip away from a setting which isn't set there. The environment is full of
// other programs' names, so short ones (HOST, PORTS) and those near a further name (APP_KEY) pass.
func environmentSlips(env Env, variables []string, known []setting, r *report) {
	const long = 6
	var own []setting
	for _, s := range known {
		if len(s.name) >= long {
			own = append(own, setting{name: s.name})
		}
	}
	slices.Sort(variables)
	for _, name := range variables {
		if declared(name, known) || inFamily(name, known) {
			continue
		}
		near, ok := nearest(name, own)
		if !ok || slips(strings.ToUpper(name), strings.ToUpper(near)) > 1 {
			continue
		}
		if value, _ := env.Lookup(near); value == "" {
			r.warn(fmt.Sprintf("%s in the environment is not a setting and was ignored; is %s meant?", name, near))
		}
	}
}

func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// wrongLine says where the statement begins that can't be parsed: behind the longest beginning that can. It returns up on a
// long file, because it parses each beginning anew.
func wrongLine(content string) string {
	lines := strings.SplitAfter(content, "\n")
	if len(lines) > 500 {
		return ""
	}
	n := len(lines)
	for n > 0 {
		if _, err := parseDotEnv(strings.Join(lines[:n], "")); err == nil {
			break
		}
		n--
	}
	return fmt.Sprintf(" in line %d", n+1)
}

func lookupIn(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		text, ok := values[name]
		return text, ok
	}
}

// finding is a value and where it was.
type finding struct {
	text  string
	where string
}

// find looks for s in the sources, the strongest first, and there under its name before its aliases.
func (s setting) find(sources []source, r *report) (finding, bool) {
	for i, src := range sources {
		if s.flagOnly && src.where != onCommandLine {
			continue
		}
		for j, name := range s.names() {
			text, ok := src.lookup(name)
			text = strings.TrimSpace(text)
			if !ok || text == "" && !s.emptyValue && src.where != onCommandLine {
				continue
			}
			f := finding{text, src.where}
			if j > 0 {
				f.where = "as " + name + " " + src.where
				// A name as common as API_KEY may be another program's.
				for _, weaker := range sources[i+1:] {
					if other, _ := weaker.lookup(s.name); other != "" && other != text {
						r.warn(fmt.Sprintf("%s %s goes before %s %s", name, src.where, s.name, weaker.where))
						break
					}
				}
			}
			return f, true
		}
	}
	return finding{s.def, byDefault}, false
}

// names are those that s may be set by.
func (s setting) names() []string {
	names := append([]string{s.name}, s.aliases...)
	if s.lower {
		names = append(names, strings.ToLower(s.name))
	}
	return names
}

// fill reads s from the sources, or reports why not.
func (s setting) fill(sources []source, r *report) Effective {
	f, _ := s.find(sources, r)
	e := Effective{Name: s.label(), Value: f.text, Unset: s.unset, Source: f.where}
	if s.secret {
		e.Value = ""
	}
	if f.text == "" && s.def == "" {
		return e
	}
	err := s.value.read(f.text)
	var note adjusted
	if errors.As(err, &note) {
		r.warn(fmt.Sprintf("%s: %s (set %s)", s.shown(f), note, f.where))
	} else if err != nil {
		s.complain(f, err, r)
		return e
	}
	if s.value.show != nil {
		e.Value = s.value.show()
	}
	return e
}

// complain reports that s was found as f and is wrong because of err.
func (s setting) complain(f finding, err error, r *report) {
	var parts partsError
	if errors.As(err, &parts) {
		for _, p := range parts {
			r.bad(s.name, fmt.Sprintf("%s %s (set %s)", s.label(), p, f.where))
		}
		return
	}
	shown := s.shown(f)
	if detail := err.Error(); detail != "" {
		shown += " (" + strings.ReplaceAll(detail, "\n", "; ") + ")"
	}
	r.bad(s.name, fmt.Sprintf("%s; allowed: %s (set %s)", shown, s.value.allowed, f.where))
}

// shown names the setting and, if it may be seen, what it was set to.
func (s setting) shown(f finding) string {
	if s.secret {
		return s.label() + " is not shown"
	}
	return fmt.Sprintf("%s is %q", s.label(), f.text)
}

// flag is the name on the command line; what isn't a flag has none, and is
// called what the help calls it.
func (s setting) flag() string {
	if s.argument {
		return "<" + strings.ToLower(s.name) + ">"
	}
	return "--" + strings.ReplaceAll(strings.ToLower(s.name), "_", "-")
}

// label is the name in messages.
func (s setting) label() string {
	if s.flagOnly {
		return s.flag()
	}
	return s.name
}
