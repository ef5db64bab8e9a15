package route

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

const (
	maxFile = 1 << 20 // bytes
	maxRows = 4096    // of all files together
)

// row is one line of a methods file.
type row struct {
	file     string
	line     int
	verb     string
	template string
	service  string
	hosts    string   // as written
	resolved []string // nil = every host
	auth     Auth
}

// files is what the methods files say, read one after the other.
type files struct {
	rows     []row
	byKey    map[string]int // verb and template without names → index into rows
	groups   map[string][]string
	hosts    map[string]bool // every host named anywhere
	dropped  string          // the file whose rows are dropped
	problems []error

	file string // being read
	line int
}

func (f *files) problem(format string, args ...any) {
	f.problems = append(f.problems, fmt.Errorf("%s line %d: %w", f.file, f.line, fmt.Errorf(format, args...)))
}

// read adds one file. A second file's rows replace equal ones of the first.
func (f *files) read(name string, r io.Reader) {
	if f.byKey == nil {
		f.byKey, f.groups, f.hosts = map[string]int{}, map[string][]string{}, map[string]bool{}
	}
	before := f.file
	f.file, f.line = name, 0
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		f.problems = append(f.problems, fmt.Errorf("%s: %w", name, err))
		return
	case len(text) > maxFile:
		f.problems = append(f.problems, fmt.Errorf("%s: longer than %d bytes", name, maxFile))
		return
	}
	// Some editors put a byte order mark in front.
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		if len(f.problems) > maxProblems {
			return
		}
		f.line++
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0][0] == '#':
		case fields[0] == "!replace" && len(fields) == 1 && before != "":
			f.dropped = before
		case fields[0][0] == '!':
			f.problem("%s: the only directive is !replace, alone on its line", quote(strings.TrimSpace(line)))
		case fields[0][0] == '@':
			f.group(fields)
		default:
			f.row(fields)
		}
	}
}

func (f *files) group(fields []string) {
	name := fields[0][1:]
	if len(fields) != 2 || !isName(name) {
		f.problem("%s: a group is @name, of lower-case letters, digits and -, then hosts separated by commas without spaces", quote(strings.Join(fields, " ")))
		return
	}
	if hosts := f.expand(fields[1]); hosts != nil {
		f.groups[name] = hosts
	}
}

func (f *files) row(fields []string) {
	if len(fields) != 5 {
		f.problem("%s has %d fields: want 5: method path service hosts auth", quote(strings.Join(fields, " ")), len(fields))
		return
	}
	r := row{file: f.file, line: f.line, verb: fields[0], template: fields[1], service: fields[2], hosts: fields[3]}
	known := len(f.problems)
	switch r.verb {
	case "GET", "POST", "PUT", "PATCH", "DELETE":
	default:
		f.problem("method %s: want GET, POST, PUT, PATCH or DELETE", quote(r.verb))
	}
	if rule := templateRule(r.template); rule != "" {
		f.problem("path %s: %s", quote(r.template), rule)
	}
	if !isName(r.service) {
		f.problem("service %s: want lower-case letters, digits and -, as match-v5", quote(r.service))
	}
	switch {
	case strings.EqualFold(fields[4], "key"):
	case strings.EqualFold(fields[4], "RSO"):
		r.auth = AuthRSO
	default:
		f.problem("auth %s: want key or RSO", quote(fields[4]))
	}
	if len(f.problems) > known {
		f.checkHosts(r.hosts)
		return
	}
	key := r.verb + " " + shape(r.template)
	i, again := f.byKey[key]
	switch {
	case again && f.rows[i].file == r.file:
		f.problem("%s %s is the method of line %d again: want each once", r.verb, r.template, f.rows[i].line)
	case again:
		f.rows[i] = r
	case len(f.rows) == maxRows:
		f.problem("more than %d methods", maxRows)
	default:
		f.byKey[key] = len(f.rows)
		f.rows = append(f.rows, r)
	}
}

// checkHosts reports problems with the hosts of a row that is wrong already, so that one reading shows them all.
func (f *files) checkHosts(list string) {
	if list != "*" {
		f.expand(list)
	}
}

// resolve turns what rows say of hosts into hosts. It comes last because a later file may declare a group again.
func (f *files) resolve() []row {
	if f.dropped != "" {
		f.rows = slices.DeleteFunc(f.rows, func(r row) bool { return r.file == f.dropped })
		if len(f.rows) == 0 && len(f.problems) == 0 {
			f.problems = append(f.problems, fmt.Errorf("%s: !replace, but no method follows: want at least one", f.file))
		}
	}
	for i := range f.rows {
		r := &f.rows[i]
		f.file, f.line = r.file, r.line
		if r.hosts != "*" {
			r.resolved = f.expand(r.hosts)
		}
	}
	return f.rows
}

// expand lists the hosts of "euw1,@regions". It returns nil after a problem, otherwise at least one host.
func (f *files) expand(list string) []string {
	var hosts []string
	ok := true
	for item := range strings.SplitSeq(list, ",") {
		group, isGroup := strings.CutPrefix(item, "@")
		members := f.groups[group]
		switch {
		case isGroup && members == nil:
			f.problem("hosts %s: no group @%s is declared here or above: want %s", quote(list), group, f.groupNames())
			ok = false
		case isGroup:
			hosts = append(hosts, members...)
		case !isHostName(item):
			f.problem("hosts %s: %s is not a host name: want %s; or an @group; or * alone", quote(list), quote(item), hostRule)
			ok = false
		default:
			hosts = append(hosts, item)
		}
	}
	if !ok {
		return nil
	}
	hosts = sortedSet(hosts)
	for _, h := range hosts {
		f.hosts[h] = true
	}
	return hosts
}

func (f *files) groupNames() string {
	return "@" + strings.Join(slices.Sorted(maps.Keys(f.groups)), ", @")
}

// isName reports whether s is a name of a service or group.
func isName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
