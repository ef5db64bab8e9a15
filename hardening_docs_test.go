package riftrelay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docs/hardening.md says what RiftRelay withstands and which tests show it.
// The tests of this file hold it to that: each row names tests that are there,
// or says which issue it waits for.

func TestHardeningDocsNameTests(t *testing.T) {
	doc, err := os.ReadFile("docs/hardening.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := claims(string(doc))
	if len(rows) < 100 {
		t.Fatalf("%d rows in docs/hardening.md; the tables are not read right", len(rows))
	}
	tests := namedTests(t)
	seen := map[string]int{}
	for _, r := range rows {
		if first, twice := seen[r.claim]; twice {
			t.Errorf("line %d says the same as line %d: %s", r.line, first, r.claim)
		}
		seen[r.claim] = r.line
		if r.open == "" && len(r.tests) == 0 {
			t.Errorf("line %d names no test, nor \"open: issue N\": %s", r.line, r.claim)
		}
		for _, name := range r.tests {
			if problem := tests.lacks(name); problem != "" {
				t.Errorf("line %d: %s %s", r.line, name, problem)
			}
		}
	}
}

// A guard that sees nothing guards nothing.
func TestHardeningDocsCheckSeesGaps(t *testing.T) {
	rows := claims("# Title\n\n| what | shown by |\n|---|---|\n| a | `.TestA` `internal/sched.TestB/x y` |\n| b | open: issue 5 |\n| c | |\n\ntext\n")
	if len(rows) != 3 || !slices.Equal(rows[0].tests, []string{".TestA", "internal/sched.TestB/x y"}) || rows[1].open != "5" || rows[2].open != "" || len(rows[2].tests) != 0 {
		t.Errorf("rows %+v", rows)
	}
	tests := namedTests(t)
	for name, lacking := range map[string]bool{
		"riftrelay.TestHardeningDocsCheckSeesGaps": false,
		"riftrelay.TestNowhere":                    true,
		"nowhere.TestGarbledHeaders":               true,
		"riftrelay.TestGarbledHeaders/huge":        false,
		"riftrelay.TestGarbledHeaders/small":       true,
		"riftrelay.TestRetries/at most twice more": false,
		"internal/sched.TestScripts/service429":    false,
		"internal/sched.TestScripts/nothing":       true,
		"riftrelay.simulate":                       true,
		"TestGarbledHeaders":                       true,
	} {
		if got := tests.lacks(name); (got != "") != lacking {
			t.Errorf("%s: %q, want it to be missed %v", name, got, lacking)
		}
	}
}

// claim is a row of a table: what holds, and what shows it.
type claim struct {
	line  int
	claim string
	tests []string // "internal/sched.TestScripts/service429"
	open  string   // number of the issue that it waits for
}

var (
	quotedName = regexp.MustCompile("`([^`]+)`")
	testName   = regexp.MustCompile(`^([a-z/]+\.(?:Test|Fuzz|Example)\w*)(?:/(.+))?$`)
	openIssue  = regexp.MustCompile(`open: issue ([0-9]+)`)
)

// claims reads the rows of all tables of two columns.
func claims(doc string) (rows []claim) {
	header := true // until the line of dashes
	for i, line := range strings.Split(doc, "\n") {
		if !strings.HasPrefix(line, "|") {
			header = true
			continue
		}
		if strings.HasPrefix(line, "|--") {
			header = false
			continue
		}
		if header {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		r := claim{line: i + 1, claim: strings.TrimSpace(cells[0])}
		shown := cells[len(cells)-1]
		for _, m := range quotedName.FindAllStringSubmatch(shown, -1) {
			r.tests = append(r.tests, m[1])
		}
		if m := openIssue.FindStringSubmatch(shown); m != nil {
			r.open = m[1]
		}
		rows = append(rows, r)
	}
	return rows
}

// testSource is what there is to name: "internal/sched.TestScripts", with the strings
// that are written in it and so may name a subtest.
type testSource map[string][]string

// lacks says what is wrong with the name of a test, if anything.
func (s testSource) lacks(name string) string {
	m := testName.FindStringSubmatch(name)
	if m == nil {
		return "is no name of a test; allowed: package.Test or package.Test/subtest"
	}
	test, sub := m[1], m[2]
	literals, found := s[test]
	switch {
	case !found:
		return "is no test of this tree"
	case sub != "" && !slices.Contains(literals, sub):
		return "is no subtest: the test has no such string"
	}
	return ""
}

// namedTests reads every test and fuzz test of the module. Files of testdata
// name subtests too.
func namedTests(t *testing.T) testSource {
	t.Helper()
	found := testSource{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(name))
		pkg := dir
		if dir == "." {
			pkg = module
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !isTest(fn.Name.Name) {
				continue
			}
			found[pkg+"."+fn.Name.Name] = append(stringsIn(fn), scripts(t, dir)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func isTest(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Example")
}

func stringsIn(n ast.Node) (all []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, s)
			}
		}
		return true
	})
	return all
}

// scripts are the names of the files in testdata, without what follows a dot.
func scripts(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, pattern := range []string{"testdata/*", "testdata/script/*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			base, _, _ := strings.Cut(filepath.Base(f), ".")
			names = append(names, base)
		}
	}
	return names
}
