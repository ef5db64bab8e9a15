package config

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// contentLines returns the lines of a file that say something, without comments, and their numbers.
func contentLines(data []byte) (parts []string, lines []int) {
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(fromUTF16(data), "\ufeff")) {
		n++
		if before, _, comment := strings.Cut(line, "#"); comment {
			line = before // no key, no token and no name has one
		}
		if line = strings.TrimSpace(line); line != "" {
			parts, lines = append(parts, line), append(lines, n)
		}
	}
	return parts, lines
}

// notUTF8 tells of a file in UTF-16 that nothing says is one; "" if there is no such sign.
func notUTF8(data []byte) string {
	if bytes.IndexByte(data, 0) < 0 || strings.IndexByte(fromUTF16(data), 0) < 0 {
		return ""
	}
	return "is UTF-16 without a byte order mark, or no text; allowed: UTF-8, or UTF-16 with a byte order mark"
}

// fromUTF16 returns the text of a file. PowerShell 5.1 writes UTF-16, which its byte order mark tells.
func fromUTF16(data []byte) string {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return string(data)
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}
