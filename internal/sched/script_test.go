package sched

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts in testdata give as what they should give")

// TestScripts plays testdata/*.txt. A script tells a story in blocks: commands,
// a line "----", and what they should give. Times count from the story's
// beginning; "#" starts a comment. The commands are in command_test.go.
//
//	go test ./internal/sched -run Scripts -rewrite
//
// takes over what the machine does now; read the difference before you commit.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, want := play(t, string(b)), string(b)
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("%s: %s", file, firstDifference(got, want))
			}
		})
	}
}

// play runs a script and returns it back with the output that it had.
func play(t *testing.T, script string) string {
	var out strings.Builder
	s := &story{t: t}
	inOutput := false
	block := func() {
		if s.pending {
			out.WriteString("----\n" + s.out.String())
			s.out.Reset()
			s.pending = false
		}
	}
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		text, _, _ := strings.Cut(line, "#")
		text = strings.TrimSpace(text)
		switch {
		case line == "----":
			inOutput = true
		case line == "":
			block()
			inOutput = false
			out.WriteString("\n")
		case inOutput:
		case text == "":
			out.WriteString(line + "\n")
		default:
			out.WriteString(line + "\n")
			s.pending = true
			s.do(text)
		}
	}
	block()
	if s.m != nil {
		checkMachine(t, s.m, s.now)
	}
	return out.String()
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		at := func(lines []string) string {
			if i < len(lines) {
				return lines[i]
			}
			return "(end)"
		}
		if at(g) != at(w) {
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, at(g), at(w))
		}
	}
	return "no difference"
}
