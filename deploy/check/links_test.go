package check

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Links lead somewhere: to a file that is there, and a heading that is in it.
func TestLinksOfDocs(t *testing.T) {
	checked := 0
	for _, page := range append(pages(t), "llms.txt", "CHANGELOG.md") {
		for _, m := range link.FindAllStringSubmatch(withoutCode(read(t, page)), -1) {
			target := m[1]
			if strings.Contains(target, "://") {
				continue
			}
			name, anchor, _ := strings.Cut(target, "#")
			file := page
			if name != "" {
				file = path.Join(path.Dir(page), name)
			}
			info, err := os.Stat(filepath.Join(root, file))
			if err != nil {
				t.Errorf("%s: %s leads nowhere", page, target)
				continue
			}
			if anchor != "" && !info.IsDir() && !headings(read(t, file))[anchor] {
				t.Errorf("%s: %s: no such heading", page, target)
			}
			checked++
		}
	}
	if checked < 80 {
		t.Errorf("%d links; not read right", checked)
	}
}

// Whoever opens docs/ finds every page of it.
func TestIndexHasAllPages(t *testing.T) {
	index := read(t, "docs/README.md")
	for _, page := range pages(t) {
		if name := path.Base(page); name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md doesn't lead to %s", name)
		}
	}
}

// A picture that is to be seen on white and on black says so, and is small.
func TestPictureOfLimits(t *testing.T) {
	svg := read(t, "docs/limits.svg")
	for _, want := range []string{"prefers-color-scheme:dark", "<title", "<desc"} {
		if !strings.Contains(svg, want) {
			t.Errorf("docs/limits.svg lacks %s", want)
		}
	}
	if len(svg) > 20_000 {
		t.Errorf("docs/limits.svg has %d bytes", len(svg))
	}
}

var fenced = regexp.MustCompile("(?ms)^```.*?^```$")

func withoutCode(page string) string { return fenced.ReplaceAllString(page, "") }

// headings are the anchors of a page, as GitHub makes them.
func headings(page string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(withoutCode(page)) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		text := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		found[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return r
			}
			return -1
		}, text)] = true
	}
	return found
}
