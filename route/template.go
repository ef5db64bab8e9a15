package route

import (
	"slices"
	"strings"
)

// maxTemplate is the longest path template, in bytes.
const maxTemplate = 256

// segmentsOf cuts a template after its leading slash.
func segmentsOf(template string) []string { return strings.Split(template[1:], "/") }

func isParam(segment string) bool { return segment[0] == '{' }

// templateRule returns the rule that a path template breaks, "" if none.
func templateRule(template string) string {
	if len(template) < 2 || template[0] != '/' || len(template) > maxTemplate {
		return "want /segments, at most 256 bytes"
	}
	segments := segmentsOf(template)
	if len(segments) > maxSegments {
		return "want at most 12 segments"
	}
	var names []string
	for i, s := range segments {
		switch {
		case s == "":
			return "want no empty segment and no trailing slash"
		case isParam(s):
			name := s[1:]
			if !strings.HasSuffix(name, "}") || !isWord(name[:len(name)-1], "_") {
				return "a parameter is a whole segment, {name} of letters, digits and _"
			}
			if i == 0 {
				// A table that starts with a parameter would take every path, and refuse nothing (R19).
				return "the first segment is a literal"
			}
			if slices.Contains(names, name) {
				return "parameter {" + name + " occurs twice"
			}
			names = append(names, name)
		case s == "." || s == ".." || !isWord(s, "-._~"):
			return "a literal segment is of letters, digits and -._~, and not . or .."
		}
	}
	return ""
}

// isWord reports whether s is of ASCII letters, digits and the bytes of extra, and not empty.
func isWord(s, extra string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return s != ""
}

// shape is a template without the names of its parameters: two templates of one shape take the same paths.
func shape(template string) string {
	segments := segmentsOf(template)
	for i, s := range segments {
		if isParam(s) {
			segments[i] = "{}"
		}
	}
	return "/" + strings.Join(segments, "/")
}
