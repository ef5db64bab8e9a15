package riftrelay_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// public are the packages that SemVer is about. admit is the machine inside the
// Limiter: it can be imported, but nothing is promised of it.
var public = []string{".", "otelriftrelay", "redisstore", "riotsim", "route"}

var updateAPI = flag.Bool("update", false, "write api.txt anew")

// api.txt is all that is exported, a line each. What changes there decides the
// next version: a line that goes or changes is a new major version (a minor one
// before v1), one that comes a minor version, none a patch.
//
//	go test . -run TestAPI -update
func TestAPI(t *testing.T) {
	all := packages(t)
	var lines []string
	for _, dir := range public {
		if all[dir] == nil {
			t.Errorf("package %s is not there", dir)
		}
		lines = append(lines, exported(module+strings.TrimPrefix("/"+dir, "/."), all[dir])...)
	}
	for dir := range all {
		if !slices.Contains(public, dir) && dir != "admit" && !strings.HasPrefix(dir, "internal/") && !strings.HasPrefix(dir, "cmd/") {
			t.Errorf("package %s can be imported; is it of public (api_test.go), or internal?", dir)
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	if *updateAPI {
		if err := os.WriteFile("api.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("api.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := apiDiff(string(want), got); diff != "" {
		t.Errorf("what is exported has changed (- before, + now). If that is meant: go test . -run TestAPI -update\n%s", diff)
	}
}

// apiDiff returns the lines that came and went.
func apiDiff(want, got string) string {
	var diff strings.Builder
	before, now := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, l := range before {
		if !slices.Contains(now, l) {
			fmt.Fprintln(&diff, "-", l)
		}
	}
	for _, l := range now {
		if !slices.Contains(before, l) {
			fmt.Fprintln(&diff, "+", l)
		}
	}
	if diff.Len() == 0 && want != got {
		return "the order of lines, or a line twice"
	}
	return diff.String()
}

// A guard that sees nothing guards nothing.
func TestAPISeesWhatIsExported(t *testing.T) {
	f := parse(t, "x.go", `package x
import "io"
type (
	S struct { A, B int; c int; io.Reader; *hidden; F func(n int) (x error) `+"`json:\"f\"`"+` }
	I interface { Do(a, b string) bool; fmt.Stringer; hide() }
	G[T any] map[string]T
	N = S
	hidden struct{ Z int }
)
const ( K Kind = iota; L; m )
const Text, other = "t", "o"
var E, e = 1, 2
var Typed map[string]int
func F[T any](a, b T, c ...int) (n int, err error) { return }
func (s *S) M() {}
func (h hidden) M() {}
func (g G[T]) Get(string) T { return nil }
func f() {}
`)
	want := []string{
		"pkg x, const K Kind = iota", "pkg x, const L as before, iota = 1", `pkg x, const Text = "t"`,
		"pkg x, func F[T any](T, T, ...int) (int, error)",
		"pkg x, method (*S) M()", "pkg x, method (G[T]) Get(string) T",
		"pkg x, type G[T any] map[string]T",
		"pkg x, type I interface, Do(string, string) bool", "pkg x, type I interface, embedded fmt.Stringer", "pkg x, type I interface, unexported methods",
		"pkg x, type N = S",
		"pkg x, type S struct, A int", "pkg x, type S struct, B int", "pkg x, type S struct, F func(int) error `json:\"f\"`", "pkg x, type S struct, embedded io.Reader",
		"pkg x, var E", "pkg x, var Typed map[string]int",
	}
	if diff := cmp.Diff(want, exported("x", []file{f})); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	if got, want := apiDiff("a\nb\n", "a\nc\n"), "- b\n+ c\n"; got != want {
		t.Errorf("difference %q, want %q", got, want)
	}
}

// exported lists what a package exports, sorted.
func exported(pkg string, files []file) []string {
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, "pkg "+pkg+", "+fmt.Sprintf(format, args...))
	}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				switch {
				case !d.Name.IsExported():
				case d.Recv == nil:
					add("func %s%s%s", d.Name.Name, parameters(d.Type.TypeParams), signature(d.Type))
				case ast.IsExported(receiver(d.Recv.List[0].Type)):
					add("method (%s) %s%s", source(d.Recv.List[0].Type), d.Name.Name, signature(d.Type))
				}
			case *ast.GenDecl:
				for i, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							exportedType(s, add)
						}
					case *ast.ValueSpec:
						exportedValues(d.Tok, s, i, add)
					}
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func exportedType(s *ast.TypeSpec, add func(string, ...any)) {
	name := s.Name.Name + parameters(s.TypeParams)
	switch t := s.Type.(type) {
	case *ast.StructType:
		open := false
		for _, f := range t.Fields.List {
			tag := ""
			if f.Tag != nil {
				tag = " " + f.Tag.Value
			}
			for _, n := range f.Names {
				if n.IsExported() {
					add("type %s struct, %s %s%s", name, n.Name, source(f.Type), tag)
					open = true
				}
			}
			if of := source(f.Type); f.Names == nil && ast.IsExported(path.Ext("." + strings.TrimPrefix(of, "*"))[1:]) {
				add("type %s struct, embedded %s%s", name, of, tag)
				open = true
			}
		}
		if !open {
			add("type %s struct", name)
		}
	case *ast.InterfaceType:
		hidden := false
		for _, m := range t.Methods.List {
			if m.Names == nil {
				add("type %s interface, embedded %s", name, source(m.Type))
			}
			for _, n := range m.Names {
				if n.IsExported() {
					add("type %s interface, %s%s", name, n.Name, signature(m.Type.(*ast.FuncType)))
				} else {
					hidden = true
				}
			}
		}
		if hidden {
			add("type %s interface, unexported methods", name)
		}
	default:
		eq := ""
		if s.Assign.IsValid() {
			eq = "= "
		}
		add("type %s %s%s", name, eq, source(t))
	}
}

// exportedValues writes the i-th line of a group of constants or variables. Its
// place decides the value of a constant that has none written.
func exportedValues(tok token.Token, s *ast.ValueSpec, place int, add func(string, ...any)) {
	for i, n := range s.Names {
		if !n.IsExported() {
			continue
		}
		line := tok.String() + " " + n.Name
		if s.Type != nil {
			line += " " + source(s.Type)
		}
		if tok == token.CONST && i < len(s.Values) {
			line += " = " + source(s.Values[i])
		} else if tok == token.CONST {
			line += fmt.Sprintf(" as before, iota = %d", place)
		}
		add("%s", line)
	}
}

// signature writes a function's parameters and results without their names.
func signature(t *ast.FuncType) string {
	list := func(fields *ast.FieldList) (types []string) {
		if fields == nil {
			return nil
		}
		for _, f := range fields.List {
			for range max(1, len(f.Names)) {
				types = append(types, source(f.Type))
			}
		}
		return types
	}
	s := "(" + strings.Join(list(t.Params), ", ") + ")"
	switch results := list(t.Results); len(results) {
	case 0:
	case 1:
		s += " " + results[0]
	default:
		s += " (" + strings.Join(results, ", ") + ")"
	}
	return s
}

func parameters(fields *ast.FieldList) string {
	if fields == nil {
		return ""
	}
	var all []string
	for _, f := range fields.List {
		for _, n := range f.Names {
			all = append(all, n.Name+" "+source(f.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// source writes a type or a value in one line.
func source(x ast.Expr) string {
	if f, ok := x.(*ast.FuncType); ok {
		return "func" + signature(f)
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), x); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
