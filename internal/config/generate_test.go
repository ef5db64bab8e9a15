package config

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated files anew")

// golden compares text with a file, or writes it.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), text); diff != "" {
		t.Errorf("%s is not what is declared; if that is right: go test ./internal/config -update\n%s", file, diff)
	}
}

func allCommands() []command {
	return commands(&Invocation{Settings: &Settings{}}, &draft{})
}

func TestGeneratedFiles(t *testing.T) {
	golden(t, "../../docs/settings.md", settingsDocument(allCommands()))
	golden(t, "../../.env.example", exampleEnv(commandNamed(allCommands(), Serve).settings))
}

func TestHelp(t *testing.T) {
	var all strings.Builder
	for _, c := range allCommands() {
		for _, width := range []int{80, 120} {
			text := helpText(allCommands(), c.name, width, false)
			for _, line := range strings.Split(text, "\n") {
				if utf8.RuneCountInString(line) > width {
					t.Errorf("%s: more than %d columns: %q", c.name, width, line)
				}
			}
			if c.name == Serve && width == 120 {
				golden(t, "testdata/help-wide.txt", text)
			}
			if width == 80 {
				all.WriteString("$ riftrelay " + string(c.name) + " --help\n" + text + "\n")
			}
		}
	}
	golden(t, "testdata/help.txt", all.String())
}

func TestHelpColors(t *testing.T) {
	w := world{env: map[string]string{}}
	env := w.Env()
	env.Color = true
	in, err := Parse([]string{"--help"}, env)
	if err != nil {
		t.Fatal(err)
	}
	plain := helpText(allCommands(), Serve, usualWidth, false)
	if !strings.Contains(in.Text, "\x1b[1m") {
		t.Error("no colours")
	}
	if got := regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(in.Text, ""); got != plain {
		t.Errorf("colours change the text:\n%s", cmp.Diff(plain, got))
	}
	w.env["NO_COLOR"] = "1"
	if in, _ := Parse([]string{"--help"}, env); in.Text != plain {
		t.Error("NO_COLOR is ignored")
	}
}

// The example has to be a .env that changes nothing, with or without its comments.
func TestExampleIsTheDefaults(t *testing.T) {
	example := exampleEnv(commandNamed(allCommands(), Serve).settings)
	want := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}}).Settings
	filled := regexp.MustCompile(`(?m)^#([A-Z0-9_]+=)`).ReplaceAllString(example, "$1")
	for _, content := range []string{example, filled} {
		in := mustParse(t, world{env: map[string]string{"RIOT_TOKEN": "RGAPI-x"}, files: map[string]string{".env": content}})
		if len(in.Warnings) > 0 {
			t.Errorf("warnings: %q", in.Warnings)
		}
		values := func(s *Settings) string {
			var b strings.Builder
			for _, e := range s.Effective() {
				b.WriteString(e.Name + "=" + e.Value + "\n")
			}
			return b.String()
		}
		// An uncommented ADMIN_ADDR= would switch it off, were its default empty.
		if diff := cmp.Diff(values(want), values(in.Settings)); diff != "" {
			t.Errorf("the example is not the defaults:\n%s", diff)
		}
	}
}

func TestDeclarations(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range commandNamed(allCommands(), Serve).settings {
		for _, name := range append([]string{s.name}, s.aliases...) {
			if seen[name] || !regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`).MatchString(strings.Replace(name, familyID, "X", 1)) {
				t.Errorf("%s: declared twice, or no name", name)
			}
			seen[name] = true
		}
		if s.group == "" || s.help == "" || s.value.allowed == "" || s.value.read == nil {
			t.Errorf("%s: no group, help or value", s.name)
		}
		if s.secret && s.value.show == nil {
			t.Errorf("%s: a secret has to say what may be shown", s.name)
		}
	}
}
