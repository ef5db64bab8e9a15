package limit_test

import (
	"testing"

	"riftrelay/internal/limit"
)

func TestDivided(t *testing.T) {
	for _, c := range []struct {
		limits, counts string
		n              int
		known          bool
		want, counted  string
	}{
		{"2000:60", "41:60", 4, false, "500:60", "11:60"},
		{"2000:60", "41:60", 4, true, "500:60", "1:60"},
		{"20:1,100:120", "3:1,7:120", 3, false, "6:1,33:120", "1:1,3:120"},
		{"3:10", "", 4, true, "1:10", ""},
		{"", "nonsense", 4, false, "", "nonsense"},
	} {
		if got, counted := limit.Divided(c.limits, c.counts, c.n, c.known); got != c.want || counted != c.counted {
			t.Errorf("%+v: %q and %q", c, got, counted)
		}
	}
}
