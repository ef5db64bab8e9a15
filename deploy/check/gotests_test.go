package check

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
)

// What the Makefile, the documents and the comments say to run with go test is
// taken by go test, and finds something to run: each command's packages are
// compiled, once, and list the tests that the command would run.
func TestGoTestCommands(t *testing.T) {
	found := goTests(t)
	if len(found) < 25 {
		t.Fatalf("%d commands; not read right", len(found))
	}
	dir, compiled := t.TempDir(), map[string]string{}
	for _, c := range found {
		r, err := understand(c.text)
		if err != nil {
			t.Errorf("%s: %s: %v", c.where, c.text, err)
			continue
		}
		if slices.Contains(r.packages, "./...") {
			continue // there are tests somewhere
		}
		for _, pkg := range r.packages {
			exe := compiled[c.dir+pkg]
			if exe == "" {
				exe = filepath.Join(dir, fmt.Sprint(len(compiled), ".test"))
				compiled[c.dir+pkg] = exe
				output(t, filepath.Join(root, c.dir), "go", "test", "-c", "-o", exe, pkg)
			}
			for _, p := range r.patterns {
				if said := output(t, filepath.Join(root, c.dir, pkg), exe, append([]string{"-test.list", p}, r.own...)...); !strings.HasPrefix(said, "Test") && !strings.HasPrefix(said, "Benchmark") {
					t.Errorf("%s: %s: nothing in %s is called %s", c.where, c.text, pkg, p)
				}
			}
		}
	}
}

// goTest is a command, and where it is said and meant to be run.
type goTest struct{ dir, text, where string }

// A command ends with its line, its `marks`, or before a pipe or a comment.
var goTestCommand = regexp.MustCompile("\\bgo test((?: +(?:'[^']*'|[^\\s`'\"|#<\\\\(),;]+))+)")

// goTests returns each command once.
func goTests(t *testing.T) []goTest {
	t.Helper()
	var found []goTest
	add := func(where, dir, text string) {
		for _, m := range goTestCommand.FindAllStringSubmatch(text, -1) {
			c := goTest{dir, strings.Trim(m[0], " :-"), where}
			if strings.ContainsAny(c.text, "./") && !slices.ContainsFunc(found, func(o goTest) bool { return o.dir == c.dir && o.text == c.text }) {
				found = append(found, c)
			}
		}
	}
	makefile := regexp.MustCompile(`\$\(or [^,]*,(\w+)\)`).ReplaceAllString(read(t, "Makefile"), "$1")
	for line := range strings.Lines(strings.ReplaceAll(makefile, "$$", "$")) {
		dir := ""
		if m := regexp.MustCompile(`^\tcd (\S+) && `).FindStringSubmatch(line); m != nil {
			dir = m[1]
		}
		add("Makefile", dir, line)
	}
	list := output(t, root, "git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "*.go", "*.md")
	for name := range strings.Lines(list) {
		name = strings.TrimSpace(name)
		if name == "CHANGELOG.md" || strings.HasPrefix(name, "deploy/check/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.HasSuffix(name, ".md") || strings.HasPrefix(strings.TrimSpace(line), "//") {
				add(name, "", line)
			}
		}
	}
	return found
}

// request is a command, understood.
type request struct {
	packages []string
	patterns []string // of the tests' names, all of which have to find something: of two alternatives one may be gone
	own      []string // flags of the tests' own
}

// understand is as strict as it has to be for go test to take what comes before
// the packages for its own: after a flag that it doesn't know it looks for none.
func understand(command string) (request, error) {
	words, err := shellwords.Parse(command)
	if err != nil {
		return request{}, err
	}
	var r request
	for i := 2; i < len(words); i++ {
		name, _, joined := strings.Cut(words[i], "=")
		switch name {
		case "-v", "-race", "-shuffle", "-benchmem":
		case "-count", "-timeout", "-benchtime", "-run", "-bench":
			if !joined {
				i++
			}
			if i == len(words) || strings.HasPrefix(words[i], "--") {
				return request{}, fmt.Errorf("%s has no value", name)
			}
			if value := strings.TrimPrefix(words[i], name+"="); name == "-run" || name == "-bench" {
				if value != "-" && value != "^$" {
					r.patterns = append(r.patterns, strings.Split(value, "|")...)
				}
			}
		default:
			if !strings.HasPrefix(name, "-") && r.own == nil {
				r.packages = append(r.packages, words[i])
				continue
			}
			if len(r.packages) == 0 {
				return request{}, fmt.Errorf("%s comes before the package; allowed: after it", name)
			}
			r.own = append(r.own, words[i])
		}
	}
	if len(r.packages) == 0 {
		r.packages = []string{"."}
	}
	if r.patterns == nil {
		r.patterns = []string{"."}
	}
	return r, nil
}

func TestUnderstand(t *testing.T) {
	for command, want := range map[string]string{
		"go test -race -shuffle=on ./...":              "{[./...] [.] []}",
		"go test ./x -run 'TestA|TestB' -v -long":      "{[./x] [TestA TestB] [-long]}",
		"go test . -soak 24 -timeout=1h":               "{[.] [.] [-soak 24]}",
		"go test -run '^$' -bench . -benchmem ./admit": "{[./admit] [.] []}",
		"go test ./x -run - -bench=Admit":              "{[./x] [Admit] []}",
		"go test -v -long ./x":                         "-long comes before the package; allowed: after it",
		"go test ./x -run":                             "-run has no value",
	} {
		r, err := understand(command)
		got := fmt.Sprint(r)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s; want %s", command, got, want)
		}
	}
	if m := goTestCommand.FindString("//\tgo test -run - -bench 'A|B' ./x   # or so"); m != "go test -run - -bench 'A|B' ./x" {
		t.Errorf("read %q", m)
	}
}
