package top

import (
	"unicode/utf8"
)

// named are the sequences that terminals send for keys without a character.
var named = map[string]string{
	"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
	"\x1b[5~": "pgup", "\x1b[6~": "pgdown",
	"\x1b[H": "home", "\x1bOH": "home", "\x1b[1~": "home", "\x1b[7~": "home",
	"\x1b[F": "end", "\x1bOF": "end", "\x1b[4~": "end", "\x1b[8~": "end",
	"\x1b": "esc", "\x03": "ctrl+c", "\r": "enter", "\n": "enter", "\x7f": "backspace", "\b": "backspace",
}

// parseKeys reads what came from a terminal at once: names of keys, or the
// characters themselves. It returns the beginning of a character whose other
// bytes are still to come.
func parseKeys(b []byte) (keys []string, rest []byte) {
	for len(b) > 0 {
		if b[0] != '\x1b' && !utf8.FullRune(b) {
			return keys, b
		}
		n := keyLength(b)
		if name, known := named[string(b[:n])]; known {
			keys = append(keys, name)
		} else if b[0] >= ' ' {
			keys = append(keys, string(b[:n]))
		}
		b = b[n:]
	}
	return keys, nil
}

// keyLength is how many bytes the first key has. An escape alone is a key of
// its own: a terminal writes a sequence at once.
func keyLength(b []byte) int {
	if b[0] != '\x1b' {
		_, n := utf8.DecodeRune(b)
		return n
	}
	switch {
	case len(b) >= 3 && b[1] == 'O':
		return 3
	case len(b) >= 2 && b[1] == '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= '@' { // the parameters come before
				return i + 1
			}
		}
		return len(b)
	}
	return 1
}
