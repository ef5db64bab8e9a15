package limit

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bounds of what a header may say. A header beyond them says nothing.
const (
	MaxQuotas  = 16            // entries of one header; Riot has sent up to four
	MaxCount   = 1_000_000_000 // calls
	MaxSeconds = 7 * 24 * 3600 // length of a window
)

// NumberFor returns the number that a list of limits or counts has for the
// window of length w.
func NumberFor(pairs []Quota, w time.Duration) (n int, ok bool) {
	for _, p := range pairs {
		if p.W == w {
			return p.N, true
		}
	}
	return 0, false
}

// ParseCounts reads "n:seconds[,n:seconds…]" (R11) into dst. It reports false
// for anything else, and for values that can be no limit: then the header says
// nothing. What is said twice counts once (R15).
func ParseCounts(s string, dst []Quota) ([]Quota, bool) {
	for entries := 1; s != ""; entries++ {
		count, rest, ok1 := parseCount(s, ':', MaxCount)
		length, rest, ok2 := parseCount(rest, ',', MaxSeconds)
		if !ok1 || !ok2 || length == 0 || len(dst) == MaxQuotas || entries > 2*MaxQuotas {
			return nil, false
		}
		w := time.Duration(length) * time.Second
		s = rest
		if known, twice := NumberFor(dst, w); !twice {
			dst = append(dst, Quota{count, w})
		} else if known != count {
			return nil, false
		}
	}
	return dst, true
}

// parseCount reads a number up to the byte end, or, where that is the comma, up
// to the end of s. Spaces around it are allowed.
func parseCount(s string, end byte, most int) (n int, rest string, ok bool) {
	i, digits := 0, 0
	for i < len(s) && s[i] == ' ' {
		i++
	}
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		n = n*10 + int(s[i]-'0')
		if digits++; n > most || digits > 10 { // also of zeros
			return 0, "", false
		}
	}
	for i < len(s) && s[i] == ' ' {
		i++
	}
	switch {
	case digits == 0:
		return 0, "", false
	case i == len(s):
		return n, "", end == ','
	}
	return n, s[i+1:], s[i] == end
}

// ParseLimits is ParseCounts for limits: none of them can be 0.
func ParseLimits(s string, dst []Quota) ([]Quota, bool) {
	pairs, ok := ParseCounts(s, dst)
	for _, p := range pairs {
		if p.N == 0 {
			return nil, false
		}
	}
	return pairs, ok
}

// ParseQuotas reads limits as Riot writes them, "20:1,100:120": calls and
// seconds, at most 16 of them.
func ParseQuotas(s string) ([]Quota, error) {
	pairs, ok := ParseLimits(s, nil)
	if !ok || len(pairs) == 0 {
		return nil, fmt.Errorf("limit: invalid limits %q: want calls:seconds[,calls:seconds…], each window once, calls 1 to %d, seconds 1 to %d",
			clip(s), MaxCount, MaxSeconds)
	}
	quotas := make([]Quota, len(pairs))
	for i, p := range pairs {
		quotas[i] = Quota{N: p.N, W: p.W}
	}
	return quotas, nil
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// MaxRetryAfter caps what Retry-After may ask for: R14 calls it unreliable.
const MaxRetryAfter = 15 * time.Minute

// ParseRetryAfter reads the values of Retry-After headers: seconds, whole or
// not, or an HTTP date, which is held against wall. It returns the longest of
// those that make sense, from 0 to MaxRetryAfter; ok is false without any.
func ParseRetryAfter(values []string, wall time.Time) (d time.Duration, ok bool) {
	for _, v := range values {
		if one, valid := parseRetryAfter(strings.TrimSpace(v), wall); valid {
			d, ok = max(d, one), true
		}
	}
	return d, ok
}

func parseRetryAfter(v string, wall time.Time) (time.Duration, bool) {
	f, err := strconv.ParseFloat(v, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // then f is infinite
		switch {
		case math.IsNaN(f) || err == nil && math.IsInf(f, 0):
			return 0, false // a word, no number of seconds
		case f < 0:
			return 0, true // a wait that is over
		case f > MaxRetryAfter.Seconds():
			return MaxRetryAfter, true
		}
		return time.Duration(f * float64(time.Second)), true
	}
	for _, layout := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} { // RFC 9110, 5.6.7
		if t, err := time.Parse(layout, v); err == nil {
			return min(max(0, t.Sub(wall)), MaxRetryAfter), true
		}
	}
	return 0, false
}
