package top

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Texts are measured in cells of the terminal. The colours that paint writes
// take none.

// wide has the characters of two cells: those of East Asia, and emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xa960, 0xa97f, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x16fe0, 0x18aff, 1}, {0x1b000, 0x1b2ff, 1}, {0x1f300, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

// next splits a text after its first colour or character, and returns how many
// cells that takes.
func next(s string) (first, rest string, cells int) {
	if strings.HasPrefix(s, "\x1b[") {
		if end := strings.IndexByte(s, 'm'); end > 0 {
			return s[:end+1], s[end+1:], 0
		}
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r < 0x300:
		cells = 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		cells = 0
	case unicode.Is(wide, r):
		cells = 2
	default:
		cells = 1
	}
	return s[:size], s[size:], cells
}

// width is the number of cells that s takes.
func width(s string) int {
	total := 0
	for s != "" {
		_, rest, n := next(s)
		total, s = total+n, rest
	}
	return total
}

// strip takes the colours out.
func strip(s string) string {
	var b strings.Builder
	for s != "" {
		first, rest, _ := next(s)
		if first[0] != '\x1b' {
			b.WriteString(first)
		}
		s = rest
	}
	return b.String()
}

// cut shortens s at its end to n cells. All its colours stay, so that they end.
func cut(s string, n int) string {
	if width(s) <= n {
		return s
	}
	var b strings.Builder
	full := n < 1
	for s != "" {
		first, rest, cells := next(s)
		s = rest
		switch {
		case first[0] == '\x1b':
			b.WriteString(first)
		case full:
		case cells >= n:
			b.WriteString("…")
			full = true
		default:
			b.WriteString(first)
			n -= cells
		}
	}
	return b.String()
}

// cutLeft shortens a text without colours at its beginning to n cells.
func cutLeft(s string, n int) string {
	total := width(s)
	if total <= n {
		return s
	}
	for s != "" && total > n-1 {
		_, rest, cells := next(s)
		s, total = rest, total-cells
	}
	return "…" + s
}

// wrap breaks a text without colours into lines of at most n cells, between
// words where that is possible.
func wrap(s string, n int) []string {
	var lines []string
	line, used := "", 0
	flush := func() {
		if line != "" {
			lines = append(lines, strings.TrimRight(line, " "))
		}
		line, used = "", 0
	}
	for word := range strings.SplitAfterSeq(s, " ") {
		if used > 0 && used+width(strings.TrimRight(word, " ")) > n {
			flush()
		}
		for word != "" {
			first, rest, cells := next(word)
			if used+cells > n && first != " " && used > 0 {
				flush()
			}
			if first == " " && used == 0 && len(lines) > 0 {
				word = rest // a line that was broken begins with a word
				continue
			}
			line, used, word = line+first, used+cells, rest
		}
	}
	flush()
	return lines
}
