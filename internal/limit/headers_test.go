package limit

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParsePairs(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("1:1,", 10_000), ",")
	for _, c := range []struct {
		in   string
		want []Quota
		ok   bool
	}{
		{"", nil, true},
		{"20:1", []Quota{{20, time.Second}}, true},
		{"100:120,20:1", []Quota{{100, 2 * time.Minute}, {20, time.Second}}, true},
		{" 100 : 120 , 20:1 ", []Quota{{100, 2 * time.Minute}, {20, time.Second}}, true},
		{"20:1,", []Quota{{20, time.Second}}, true},
		{"0:1", []Quota{{0, time.Second}}, true}, // a count; no limit
		{"1000000000:604800", []Quota{{MaxCount, MaxSeconds * time.Second}}, true},
		{"1000000001:1", nil, false},
		{"1:604801", nil, false},
		{"9999999999:1", nil, false},
		{"99999999999999999999:1", nil, false},
		{"1000000000000000000:1", nil, false},
		{"1e18:1", nil, false},
		{"0:0", nil, false},
		{"-1:1", nil, false},
		{"1:-1", nil, false},
		{"+1:1", nil, false},
		{"1.5:1", nil, false},
		{"20:1,20:1", []Quota{{20, time.Second}}, true}, // R15: doubled
		{"20:1,30:1", nil, false},
		{",20:1", nil, false},
		{"20:1,,100:120", nil, false},
		{"20", nil, false},
		{"20:", nil, false},
		{":1", nil, false},
		{"20:1:1", nil, false},
		{"a:b", nil, false},
		{"２０:1", nil, false},
		{many, nil, false},
	} {
		got, ok := ParseCounts(c.in, nil)
		if ok != c.ok || !slices.Equal(got, c.want) {
			t.Errorf("parsePairs(%.40q) = %v, %v; want %v, %v", c.in, got, ok, c.want, c.ok)
		}
	}
}

func TestParseQuotas(t *testing.T) {
	got, err := ParseQuotas("100:120,20:1")
	if want := []Quota{{100, 2 * time.Minute}, {20, time.Second}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if s := got[1].String(); s != "20:1" {
		t.Errorf("String() = %q, want 20:1", s)
	}
	for _, in := range []string{"", "0:1", "20", "20:1;100:120", strings.Repeat("x", 200)} {
		_, err := ParseQuotas(in)
		if err == nil || !strings.Contains(err.Error(), "want") || len(err.Error()) > 300 {
			t.Errorf("ParseQuotas(%.20q): error %v, want a short one that says what is allowed", in, err)
		}
	}
}

func TestParseRetryAfter(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want time.Duration
		ok   bool
	}{
		{nil, 0, false},
		{[]string{""}, 0, false},
		{[]string{"0"}, 0, true},
		{[]string{"2"}, 2 * time.Second, true},
		{[]string{" 2 "}, 2 * time.Second, true},
		{[]string{"1.5"}, 1500 * time.Millisecond, true},
		{[]string{"-1"}, 0, true},
		{[]string{"120"}, 2 * time.Minute, true},
		{[]string{"10000000000"}, MaxRetryAfter, true},
		{[]string{"1e10"}, MaxRetryAfter, true},
		{[]string{"1e400"}, MaxRetryAfter, true},
		{[]string{strings.Repeat("9", 400)}, MaxRetryAfter, true},
		{[]string{"NaN"}, 0, false},
		{[]string{"Inf"}, 0, false},
		{[]string{"-Inf"}, 0, false},
		{[]string{"infinity"}, 0, false},
		{[]string{"soon"}, 0, false},
		{[]string{"2 s"}, 0, false},
		{[]string{"Mon, 02 Mar 2026 10:00:30 GMT"}, 30 * time.Second, true},
		{[]string{"Monday, 02-Mar-26 10:00:30 GMT"}, 30 * time.Second, true},
		{[]string{"Mon Mar  2 10:00:30 2026"}, 30 * time.Second, true},
		{[]string{"Mon, 02 Mar 2026 10:00:30 EST"}, 0, false},
		{[]string{"Monday, 02-Mar-26 10:00:30 EST"}, 0, false},
		{[]string{"Mon, 02 Mar 2020 10:00:30 GMT"}, 0, true}, // over
		{[]string{"Mon, 02 Mar 2099 10:00:30 GMT"}, MaxRetryAfter, true},
		{[]string{"1", "3"}, 3 * time.Second, true},
		{[]string{"3", "1"}, 3 * time.Second, true},
		{[]string{"soon", "3"}, 3 * time.Second, true},
		{[]string{"1, 3"}, 0, false},
	} {
		got, ok := ParseRetryAfter(c.in, tenOClock)
		if got != c.want || ok != c.ok {
			t.Errorf("ParseRetryAfter(%q) = %v, %v; want %v, %v", c.in, got, ok, c.want, c.ok)
		}
	}
}

func TestInstantAdd(t *testing.T) {
	for _, c := range []struct {
		t    Instant
		d    time.Duration
		want Instant
	}{
		{5, 3, 8}, {5, 0, 5}, {5, -8, -3}, {Never, 1, Never}, {Never, 0, Never}, {Never - 1, 5, Never}, {1, 1<<63 - 1, Never},
	} {
		if got := c.t.Add(c.d); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.t, c.d, got, c.want)
		}
	}
}

var tenOClock = time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC)
