package route

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

//go:embed methods.tsv
var builtin string

// Options describe a [Table]. The zero value is Riot's table as this version knows it.
type Options struct {
	// Hosts lists the hosts. "" is every host that the method tables name; "+xx1,yy2" adds to those; "a,b" replaces
	// them. A host named here and by no row of the tables serves every method: of a host that is new at Riot nothing is
	// known yet (R24).
	Hosts string

	// ForwardUnknownHosts lets any name of the strict pattern ^[a-z]{2,10}[0-9]?$ be a host that serves every method.
	// Then the *caller* has to bound what a client can name: each such host is a Route of its own.
	ForwardUnknownHosts bool

	// ForwardUnknownPaths routes what no method of the host fits (an unknown path, an unknown verb of a known path, a
	// method that the host doesn't serve) to one method, Template UnknownTemplate and AuthKey. So all of them share one
	// bucket a host, and a client can't make buckets up. What is malformed is still refused.
	ForwardUnknownPaths bool

	// Methods is a methods file that extends or replaces the built-in one; methods.tsv says how. nil = none.
	Methods io.Reader
}

// Table is the method table of one configuration. It never changes, so everybody may use it at the same time.
type Table struct {
	root         *node
	hosts        map[string]listedHost
	hostList     []string  // sorted
	methods      []*Method // as listed by Methods
	paths        []path    // distinct templates, for suggestions
	unknown      *Method   // nil = refuse
	forwardHosts bool
}

type listedHost struct {
	name   string // the table's own string: a Route mustn't keep a request's path alive
	number int
}

// Default is the table of the zero Options. Every call builds a new one, and methods of different tables are different:
// keep the one you route with.
func Default() *Table {
	t, err := New(Options{})
	if err != nil {
		panic("BUG: built-in methods: " + err.Error())
	}
	return t
}

// New builds a table. The error joins one error for each thing wrong with the options or the methods file; each names the
// place, the value and what is allowed.
func New(o Options) (*Table, error) {
	var f files
	f.read("built-in methods", strings.NewReader(builtin))
	if o.Methods != nil {
		f.read("methods file", o.Methods)
	}
	rows := f.resolve()

	list, named, problems := listHosts(o.Hosts, slices.Sorted(maps.Keys(f.hosts)))
	if len(list) > maxHosts {
		problems = append(problems, fmt.Errorf("hosts: %d names: want at most %d", len(list), maxHosts))
	}
	if problems = append(f.problems, problems...); len(problems) > 0 {
		return nil, joinSome(problems)
	}

	t := &Table{root: &node{}, hosts: make(map[string]listedHost, len(list)), hostList: list, forwardHosts: o.ForwardUnknownHosts}
	for i, name := range list {
		t.hosts[name] = listedHost{name, i}
	}
	for _, r := range rows {
		named = slices.DeleteFunc(named, func(h string) bool { return slices.Contains(r.resolved, h) })
	}
	for _, r := range rows {
		m := &Method{Verb: r.verb, Template: r.template, Service: r.service, Auth: r.auth, label: label(r.verb, r.template)}
		if r.resolved != nil {
			t.serve(m, slices.Concat(r.resolved, named))
		}
		t.root.add(m)
		// A method that no host can be asked for stays in the tree, for a better message, and out of the list.
		if m.Hosts == nil || len(m.Hosts) > 0 || t.forwardHosts {
			t.methods = append(t.methods, m)
			t.addPath(m)
		}
	}
	if o.ForwardUnknownPaths {
		t.unknown = &Method{Template: UnknownTemplate, Service: "unknown", label: UnknownTemplate}
	}
	return t, nil
}

// serve sets m's hosts to those of names that are listed.
func (t *Table) serve(m *Method, names []string) {
	m.Hosts = []string{}
	m.served = make([]uint64, (len(t.hostList)+63)/64)
	for _, name := range sortedSet(names) {
		if h, ok := t.hosts[name]; ok {
			m.Hosts = append(m.Hosts, h.name)
			m.served[h.number>>6] |= 1 << (h.number & 63)
		}
	}
}

// Hosts returns the listed hosts, sorted.
func (t *Table) Hosts() []string { return slices.Clone(t.hostList) }

// Methods returns the methods that the hosts serve: the built-in ones in the order of their file, then those added.
// The method of UnknownTemplate isn't among them. With ForwardUnknownHosts a method may be served by unlisted hosts only:
// its Hosts are then empty but not nil.
func (t *Table) Methods() []*Method { return slices.Clone(t.methods) }

// maxProblems bounds an error's lines: a file of another format would have thousands.
const maxProblems = 25

func joinSome(problems []error) error {
	if len(problems) > maxProblems {
		problems = append(problems[:maxProblems:maxProblems], errors.New("… and more"))
	}
	return errors.Join(problems...)
}
