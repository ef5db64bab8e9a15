package limit

import (
	"testing"
)

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{"", "0", "1.5", "-1", "1e10", "NaN", "Inf", "0x1p-2", "Mon, 02 Mar 2026 10:00:30 GMT", "Monday, 02-Mar-26 10:00:30 GMT", "Mon Mar  2 10:00:30 2026", "soon"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := ParseRetryAfter([]string{s}, tenOClock)
		if d < 0 || d > MaxRetryAfter || !ok && d != 0 {
			t.Errorf("ParseRetryAfter(%q) = %v, %v", s, d, ok)
		}
		if again, ok2 := ParseRetryAfter([]string{s, s}, tenOClock); again != d || ok2 != ok {
			t.Errorf("twice %q: %v, %v; once: %v, %v", s, again, ok2, d, ok)
		}
	})
}
