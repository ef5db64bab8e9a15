package riftrelay_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tests of this file hold the shape of the tree: which package may import which, and that what is written can be read.

const module = "riftrelay"

// layers says what a package may import besides the standard library: packages of ours, and modules of others. Imports
// point down this list. A new package needs a row, which is the moment to ask where it belongs.
var layers = []layer{
	{"cmd/riftrelay", []string{"internal/daemon"}, nil},
	{"internal/daemon", []string{"internal/...", ".", "route", "internal/limit", "otelriftrelay", "redisstore", "riotsim"}, []string{"github.com/fsnotify/fsnotify", "github.com/go-logr/logr", "github.com/google/renameio", "github.com/lmittmann/tint", "go.opentelemetry.io/otel", "golang.org/x/sync", "golang.org/x/term"}},

	// Parts of the relay know the library, never each other.
	{"internal/config", []string{".", "route", "internal/limit", "internal/tokens", "redisstore"}, []string{"github.com/alecthomas/kong", "github.com/goccy/go-yaml", "github.com/joho/godotenv", "golang.org/x/net/http/httpproxy"}},
	{"internal/admin", []string{"internal/openapi", ".", "route"}, nil},
	{"internal/explorer", []string{"internal/openapi", "route"}, []string{"github.com/swaggest/swgui"}},
	{"internal/top", nil, nil},
	{"internal/otlp", []string{"internal/files"}, []string{"go.opentelemetry.io/otel", "google.golang.org/protobuf/encoding/protowire"}},
	{"internal/dashboard", []string{".", "route", "internal/limit"}, nil},
	{"internal/dashboard/browsertest", nil, nil}, // of tests
	{"internal/metrics", []string{".", "route"}, []string{"github.com/prometheus/client_golang"}},
	{"internal/proxy", []string{"internal/handoff", ".", "route", "internal/tokens"}, nil},
	{"internal/conns", nil, []string{"golang.org/x/sys/unix"}},
	{"internal/files", nil, nil},
	{"internal/tokens", nil, nil},
	{"internal/trust", []string{"internal/files"}, []string{"github.com/google/renameio"}},

	// A format; it knows nothing of ours.
	{"internal/openapi", nil, nil},

	// A redis-server for the demo and for tests, and tests of replicas as processes.
	{"internal/redisserver", nil, nil},
	{"internal/replicas", nil, nil},

	// OpenTelemetry stays with those who import this package.
	{"otelriftrelay", []string{".", "route"}, []string{"go.opentelemetry.io/otel"}},

	// The store of several replicas, for those who have some.
	{"redisstore", []string{"internal/fanout", "internal/limit"}, []string{"github.com/redis/go-redis"}},

	// What users import else takes nothing along but the standard library.
	{"riotsim", []string{"route"}, nil},
	{".", []string{"internal/handoff", "route", "internal/sched", "internal/window", "internal/limit"}, nil},

	// What the proxy and Transport say to each other of a call.
	{"internal/handoff", []string{"route"}, nil},

	// The engine, from who goes next down to what Riot allows.
	{"internal/sched", []string{"internal/window", "internal/limit"}, nil},
	{"internal/window", []string{"internal/limit"}, nil},
	{"internal/memstore", []string{"internal/limit", "internal/fanout"}, nil},
	{"internal/limittest", []string{"internal/limit"}, nil},
	{"internal/limit", nil, nil},
	{"internal/fanout", nil, nil},
	{"route", nil, nil},
}

type layer struct {
	pkg     string
	ours    []string // "internal/..." = any package under it
	modules []string
}

func (l layer) allows(imported string) bool {
	if own, ok := cutModule(imported); ok {
		return slices.ContainsFunc(l.ours, func(a string) bool {
			under, wild := strings.CutSuffix(a, "...")
			return own == a || wild && strings.HasPrefix(own, under)
		})
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(l.modules, func(m string) bool { return within(imported, m) })
}

func TestImportsPointOneWay(t *testing.T) {
	for dir, files := range packages(t) {
		i := slices.IndexFunc(layers, func(l layer) bool { return l.pkg == dir })
		if i < 0 {
			t.Errorf("package %s has no row in layers (arch_test.go)", dir)
			continue
		}
		for _, f := range files {
			for _, imported := range f.imports() {
				if !layers[i].allows(imported) {
					t.Errorf("%s imports %s; allowed for %s: the standard library, %q and %q", f.name, imported, dir, layers[i].ours, layers[i].modules)
				}
			}
		}
	}
}

// pure are the packages to which time and random numbers are arguments, and which neither talk nor touch files.
var pure = []string{"internal/limit", "internal/window", "internal/sched", "route"}

var (
	impureImports = []string{"net/http", "net", "os", "log", "math/rand", "crypto/rand", "syscall", "C", "unsafe"}
	clockReaders  = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
)

func TestCoreIsPure(t *testing.T) {
	all := packages(t)
	for _, dir := range pure {
		for _, f := range all[dir] {
			for _, problem := range f.impurities() {
				t.Errorf("%s: %s", f.name, problem)
			}
		}
	}
}

func TestPackagesTeach(t *testing.T) {
	for dir, files := range packages(t) {
		if !slices.ContainsFunc(files, func(f file) bool { return f.Doc != nil && len(f.Doc.Text()) > 40 }) {
			t.Errorf("package %s has no comment that says what it is for", dir)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, files := range packages(t) {
		for _, f := range files {
			for _, name := range f.undocumented() {
				t.Errorf("%s: %s has no doc comment", f.name, name)
			}
		}
	}
}

func TestNamesAndSizes(t *testing.T) {
	const maxLines, maxRootFiles = 300, 28
	vague := []string{"util", "utils", "common", "types", "helper", "helpers", "misc", "shared"}
	for dir, files := range packages(t) {
		if dir == "." && len(files) > maxRootFiles {
			t.Errorf("the package at the root has %d files; allowed: %d. What belongs inside?", len(files), maxRootFiles)
		}
		for _, f := range files {
			if slices.Contains(vague, f.Name.Name) || slices.Contains(vague, path.Base(dir)) {
				t.Errorf("%s: package %s says nothing about what is in it", f.name, f.Name.Name)
			}
			if f.lines > maxLines {
				t.Errorf("%s has %d lines; allowed: %d. What is the second idea in it?", f.name, f.lines, maxLines)
			}
		}
	}
}

// Each fact of docs/riot.md has its number once and says how sure it is; comments quote no others.
func TestFactsHaveNumbers(t *testing.T) {
	doc, err := os.ReadFile("docs/riot.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for i, m := range regexp.MustCompile(`(?m)^- \*\*R([0-9]+)\*\* \*\((?:official|observed|inferred)[^)]*\)\* `).FindAllSubmatch(doc, -1) {
		known[string(m[1])] = true
		if string(m[1]) != strconv.Itoa(i+1) {
			t.Errorf("docs/riot.md: R%s stands where R%d is expected", m[1], i+1)
		}
	}
	if len(known) < 24 {
		t.Errorf("docs/riot.md has %d graded facts; R1 to R24 at least", len(known))
	}
	quoted := regexp.MustCompile(`\bR([0-9]+)\b`)
	for _, files := range packages(t) {
		for _, f := range files {
			for _, c := range f.Comments {
				for _, m := range quoted.FindAllStringSubmatch(c.Text(), -1) {
					if !known[m[1]] {
						t.Errorf("%s quotes R%s, which docs/riot.md doesn't have", f.name, m[1])
					}
				}
			}
		}
	}
}

// A guard that sees nothing guards nothing.
func TestArchitectureChecksSeeViolations(t *testing.T) {
	f := parse(t, "bad.go", `package bad
import (
	clock "time"
	"math/rand/v2"
	"net/http"
	"example.com/x"
	"riftrelay/internal/proxy"
)
type Exposed struct{}
func (Exposed) Method() {}
func (hidden) Fine()    {}
type hidden struct{ t clock.Time }
type I interface{ Do() }
const (
	A = 1 // with a comment
	B = 2
)
var _ = clock.Now
func Sleepy() { clock.Sleep(rand.N[clock.Duration](1)) }
`)
	wantPure := []string{"imports math/rand/v2", "imports net/http", "uses time.Now", "uses time.Sleep"}
	if got := f.impurities(); !slices.Equal(got, wantPure) {
		t.Errorf("impurities = %q, want %q", got, wantPure)
	}
	wantDoc := []string{"Exposed", "Exposed.Method", "I", "I.Do", "B", "Sleepy"}
	if got := f.undocumented(); !slices.Equal(got, wantDoc) {
		t.Errorf("undocumented = %q, want %q", got, wantDoc)
	}
	var refused []string
	for _, imported := range f.imports() {
		if !(layer{pkg: "internal/config", ours: []string{"route"}}).allows(imported) {
			refused = append(refused, imported)
		}
	}
	if want := []string{"example.com/x", "riftrelay/internal/proxy"}; !slices.Equal(refused, want) {
		t.Errorf("refused imports = %q, want %q", refused, want)
	}
}

// file is one file that isn't a test.
type file struct {
	*ast.File
	name  string
	lines int
}

func (f file) imports() []string {
	var paths []string
	for _, s := range f.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// impurities lists the imports and calls that a pure package may not have.
func (f file) impurities() []string {
	var found []string
	clock := "time"
	for i, p := range f.imports() {
		if slices.ContainsFunc(impureImports, func(bad string) bool { return within(p, bad) }) {
			found = append(found, "imports "+p)
		}
		if p == "time" && f.Imports[i].Name != nil {
			clock = f.Imports[i].Name.Name
		}
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(clockReaders, s.Sel.Name) {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == clock {
				found = append(found, "uses time."+s.Sel.Name)
			}
		}
		return true
	})
	return found
}

// undocumented lists the exported names without a comment: functions, types, their methods, variables and constants (of
// which a group may share one).
func (f file) undocumented() []string {
	var found []string
	need := func(name string, comments ...*ast.CommentGroup) {
		if slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return strings.TrimSpace(c.Text()) != "" }) {
			return
		}
		found = append(found, name)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name, visible := d.Name.Name, d.Name.IsExported()
			if d.Recv != nil {
				of := receiver(d.Recv.List[0].Type)
				name, visible = of+"."+name, visible && ast.IsExported(of)
			}
			if visible {
				need(name, d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if !s.Name.IsExported() {
						continue
					}
					need(s.Name.Name, s.Doc, d.Doc, s.Comment)
					if i, ok := s.Type.(*ast.InterfaceType); ok {
						for _, m := range i.Methods.List {
							for _, n := range m.Names {
								need(s.Name.Name+"."+n.Name, m.Doc, m.Comment)
							}
						}
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.IsExported() {
							need(n.Name, s.Doc, d.Doc, s.Comment)
						}
					}
				}
			}
		}
	}
	return found
}

// receiver names the type that a method is of.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return fmt.Sprintf("%T", e)
}

// packages parses every file of this module that isn't a test, whatever system it is built for, by directory.
func packages(t *testing.T) map[string][]file {
	t.Helper()
	found := map[string][]file{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(name, "go.mod"))
			if name != "." && (other == nil || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata" || d.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		found[dir] = append(found[dir], parse(t, filepath.ToSlash(name), string(source)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 5 || len(found["."]) == 0 {
		t.Fatalf("found packages %v only: not the root of the tree?", slices.Sorted(maps.Keys(found)))
	}
	return found
}

func parse(t *testing.T, name, source string) file {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file{f, name, strings.Count(source, "\n")}
}

// cutModule returns the directory of a package of this module.
func cutModule(imported string) (dir string, ours bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// within says whether p is the package parent or below it.
func within(p, parent string) bool { return p == parent || strings.HasPrefix(p, parent+"/") }
