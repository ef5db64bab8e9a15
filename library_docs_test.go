package riftrelay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The Go code that README.md and docs/library.md show is that of the examples,
// which are compiled and run. A line "// …" leaves some out.
func TestDocsShowTheExamples(t *testing.T) {
	files, err := filepath.Glob("example_*test.go")
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// What stands for Riot is left out in the docs.
		examples = append(examples, squeezed(strings.ReplaceAll(string(data), ", Base: riot()", "")))
	}
	for name, least := range map[string]int{"README.md": 1, "docs/library.md": 5} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		blocks := goBlocks(string(data))
		if len(blocks) < least {
			t.Errorf("%s has %d blocks of Go; the test reads it wrong", name, len(blocks))
		}
		for _, block := range blocks {
			if !shown(block, examples) {
				t.Errorf("%s shows what is in no example:\n%s", name, block)
			}
		}
	}
}

// A guard that sees nothing guards nothing.
func TestDocsCheckSeesOtherCode(t *testing.T) {
	examples := []string{squeezed("\tone()\n\ttwo()\n\tthree()\n")}
	for block, want := range map[string]bool{
		"one()\ntwo()\n":         true,
		"one()\n// …\nthree()\n": true,
		"three()\n// …\none()\n": false,
		"one()\nthree()\n":       false,
		"other()\n":              false,
	} {
		if got := shown(block, examples); got != want {
			t.Errorf("%q: %v", block, got)
		}
	}
	if got := goBlocks("a\n```go\nx\n```\nb\n```sh\ny\n```\n```go\nz\n```\n"); fmt.Sprintf("%q", got) != `["x\n" "z\n"]` {
		t.Errorf("%q", got)
	}
}

func goBlocks(text string) (blocks []string) {
	for i, part := range strings.Split(text, "```") {
		if code, ok := strings.CutPrefix(part, "go\n"); ok && i%2 == 1 {
			blocks = append(blocks, code)
		}
	}
	return blocks
}

// shown reports whether the parts of a block are in one of the texts, in order.
func shown(block string, texts []string) bool {
texts:
	for _, text := range texts {
		for part := range strings.SplitSeq(block, "// …\n") {
			_, rest, found := strings.Cut(text, squeezed(part))
			if !found {
				continue texts
			}
			text = rest
		}
		return true
	}
	return false
}

// squeezed leaves out the indentation and empty lines.
func squeezed(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// Who reads why a call waits, or was refused, finds the word in the docs.
func TestDocsKnowEachWord(t *testing.T) {
	text := func(names ...string) string {
		var b strings.Builder
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(data)
		}
		return b.String()
	}
	for _, c := range []struct {
		code, words string // where they are declared, and how
		docs        string
		least       int
	}{
		{text("errors.go", "internal/proxy/refusal.go", "internal/proxy/respond.go"), `(?m)^\treason\w+ +(?:riftrelay\.Reason )?= "(\w+)"|^\tReason\w+ +Reason = "(\w+)"`, text("docs/errors.md"), 20},
		{text("wait.go"), `(?m)^\tWait\w+ +WaitKind = "(\w+)"`, text("docs/operations.md"), 10},
	} {
		words := regexp.MustCompile(c.words).FindAllStringSubmatch(c.code, -1)
		if len(words) < c.least {
			t.Errorf("%d words; read wrong: %q", len(words), words)
		}
		for _, m := range words {
			word := strings.Join(m[1:], "")
			if word == "client_gone" { // nobody is there to read it
				continue
			}
			if !strings.Contains(c.docs, "`"+word+"`") {
				t.Errorf("the docs don't know %s", word)
			}
		}
	}
}
