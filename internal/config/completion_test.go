package config

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func scriptFor(t *testing.T, shell string) string {
	t.Helper()
	in, err := Parse([]string{"completion", shell}, world{}.Env())
	if err != nil || in.Command != Completion || in.Text == "" {
		t.Fatalf("%v %+v", err, in)
	}
	return in.Text
}

// run has a shell read the script, then do several things and returns the words
// that each of them printed.
func run(t *testing.T, shell []string, script string, things ...string) [][]string {
	t.Helper()
	path, err := exec.LookPath(shell[0])
	if err != nil && os.Getenv("RIFTRELAY_REQUIRE") == "all" {
		t.Fatalf("no %s here", shell[0])
	} else if err != nil {
		t.Skipf("no %s here: its completion isn't tested", shell[0])
	}
	cmd := exec.CommandContext(t.Context(), path, shell[1:]...)
	const end = "---end---"
	cmd.Stdin = strings.NewReader(script + "\n" + strings.Join(things, "\necho "+end+"\n") + "\n")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("%v: %s", err, out)
	}
	var found [][]string
	for part := range strings.SplitSeq(string(out), end) {
		found = append(found, strings.Fields(part))
	}
	if len(found) != len(things) {
		t.Fatalf("%d answers for %d things: %s", len(found), len(things), out)
	}
	return found
}

// completions are lines as somebody types them before the tab, and words that
// are offered, or, after "!", not.
var completions = []struct {
	line string
	want string
}{
	{"riftrelay ", "serve demo validate top completion !--port"},
	{"riftrelay --", "--port --help --enable-swagger !serve"},
	{"riftrelay va", "validate !demo"},
	{"riftrelay --log-f", "--log-format !--log-level"},
	{"riftrelay --log-format ", "auto json text !serve"},
	{"riftrelay --log-format t", "text !json"},
	{"riftrelay --pacing ", "spread burst"},
	{"riftrelay demo --", "--for --pacing --help !--port"},
	{"riftrelay demo --pacing b", "burst"},
	{"riftrelay validate --on", "--online"},
	{"riftrelay validate --online --log-level d", "debug"},
	{"riftrelay completion ", "bash zsh fish"},
	{"riftrelay completion z", "zsh !bash"},
	{"riftrelay top --", "--addr --token !--json"},
}

func check(t *testing.T, line, want string, got []string) {
	t.Helper()
	for word := range strings.FieldsSeq(want) {
		not, absent := strings.CutPrefix(word, "!")
		if slices.Contains(got, not) == absent {
			t.Errorf("%q: %s (offered: %q)", line, word, got)
		}
	}
}

func TestBash(t *testing.T) {
	cases := append(slices.Clone(completions), []struct{ line, want string }{
		{"riftrelay --log-format=js", "json !text"},
		{"riftrelay --riot-token-file k", "keys.txt !other"},
	}...)
	things := make([]string, len(cases))
	for i, c := range cases {
		words := strings.Split(strings.ReplaceAll(c.line, "=", " = "), " ") // as bash does
		for i, w := range words {
			words[i] = single(w)
		}
		// The function is the one that bash was told to call.
		things[i] = "COMP_WORDS=(" + strings.Join(words, " ") + "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); COMPREPLY=(); " +
			"$(complete -p riftrelay | sed 's/.*-F \\([^ ]*\\).*/\\1/'); printf '%s\\n' \"${COMPREPLY[@]}\""
	}
	for i, got := range run(t, []string{"bash", "--norc", "--noprofile", "-u"}, scriptFor(t, "bash")+"\ntouch keys.txt other", things...) {
		check(t, cases[i].line, cases[i].want, got)
	}
}

func TestFish(t *testing.T) {
	things := make([]string, len(completions))
	for i, c := range completions {
		things[i] = "complete -C " + fishQuote(c.line) + " | string split -f1 \\t"
	}
	for i, got := range run(t, []string{"fish", "--no-config"}, scriptFor(t, "fish"), things...) {
		check(t, completions[i].line, completions[i].want, got)
	}
}

// zsh completes on a terminal only, so this shows what _arguments is told.
func TestZsh(t *testing.T) {
	script := "compdef() { }; _arguments() { print -rl -- \"${@%%[\\[=]*}\"; print -rl -- ${${(M)@:#*:\\(*\\)}##*:}; print -rl -- ${commands%%:*} }\n" + scriptFor(t, "zsh")
	things := make([]string, len(completions))
	for i, c := range completions {
		words := strings.Split(c.line, " ")
		for i, w := range words {
			words[i] = single(w)
		}
		things[i] = "words=(" + strings.Join(words, " ") + "); CURRENT=${#words}; _riftrelay | tr '()' '  '"
	}
	for i, got := range run(t, []string{"zsh", "-f"}, script, things...) {
		for word := range strings.FieldsSeq(completions[i].want) {
			if word[0] != '!' { // who chooses among them is zsh
				check(t, completions[i].line, word, got)
			}
		}
	}
	known := run(t, []string{"zsh", "-f"}, "autoload -U compinit; compinit -u -D\n"+scriptFor(t, "zsh"), "print $_comps[riftrelay]")
	check(t, "compdef", "_riftrelay", known[0])
}

func TestCompletionOfNoShell(t *testing.T) {
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}} {
		_, err := Parse(args, world{}.Env())
		if err == nil || !strings.Contains(err.Error(), "bash, zsh or fish") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
