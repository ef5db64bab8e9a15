package riftrelay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unclear are turns of phrase that a native reader has to decode, with what to
// say instead. They are forbidden in comments, messages and documents.
var unclear = []struct{ pattern, instead string }{
	{`\bany more\b`, "no longer, or any longer"},
	{`\bfor ever\b`, "forever"},
	{`\bof late\b`, "recently"},
	{`[,;:] (and )?else \b`, "otherwise"},
	{`\babsent else\b`, "otherwise absent"},
	{`(^|[.:;] )\w+ gives (the|a|an|how|what|which|when|why|whether)\b`, "returns"},
	{`, and gives (the|a|an|how|what|which|when|why|whether)\b`, "and returns"},
	{`\bfor who\b`, "for a caller that"},
	{`(^|[.] )Who (wants|runs|calls|has|needs|asks) `, "A caller that …"},
	{`\bis no [a-z ]+; allowed`, "invalid …: want …"},
	{`%q is nothing to\b`, "invalid …: want …"},
	{`\bhas got\b`, "has"},
	{`\bsees? to it\b`, "the verb of what is done"},
	{`\bbe had\b`, "is available"},
	{`\bas many \w+ (wait )?as may\b`, "is full"},
	{`\blest\b`, "so that … not"},
	{`\bthereof|therein|thereby|hereby|whereby|whereof\b`, "the noun"},
	{`\bbeforehand\b`, "before"},
	{`\bin use no more\b`, "no longer in use"},
	{`\bbe it \w`, "whether it is"},
	{`\bsave for\b`, "except"},
	{`\bthe like of\b`, "such as"},
	{`\bas if there were\b`, "as if there was, or the plain case"},
	{`\bhas to be had\b`, "is needed"},
	{`\bowing to\b`, "because of"},
	{`\bnought|naught\b`, "nothing"},
	{`\bshall\b`, "must, or the plain present"},
	{`\bupon\b`, "on"},
	{`\bamongst|whilst\b`, "among, while"},
	{`\bin lieu\b`, "instead"},
}

// TestPlainEnglish looks through comments, the texts of the program, and the
// documents for what unclear lists.
func TestPlainEnglish(t *testing.T) {
	var patterns []*regexp.Regexp
	for _, u := range unclear {
		patterns = append(patterns, regexp.MustCompile(u.pattern))
	}
	check := func(place, text string) {
		for i, p := range patterns {
			if found := p.FindString(text); found != "" {
				t.Errorf("%s: %q; say: %s", place, found, unclear[i].instead)
			}
		}
	}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return filepath.SkipDir
		case name == "language_test.go" || d.IsDir():
		case strings.HasSuffix(name, ".go"):
			checkGo(t, name, check)
		case strings.HasSuffix(name, ".md") && name != "CHANGELOG.md":
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(string(text), "\n") {
				check(name+":"+strconv.Itoa(i+1), line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkGo checks the comments of a file, and of a program's file its texts too.
func checkGo(t *testing.T, name string, check func(place, text string)) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range f.Comments {
		check(set.Position(group.Pos()).String(), strings.Join(strings.Fields(group.Text()), " "))
	}
	if strings.HasSuffix(name, "_test.go") {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				check(set.Position(lit.Pos()).String(), text)
			}
		}
		return true
	})
}
