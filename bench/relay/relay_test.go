package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// The program starts itself in its roles, and here the program is the test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == roleArg {
		exit(playRole(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// TestCompare runs the whole comparison, short: its figures mean nothing, but
// every answer was a 200 and every figure is there.
func TestCompare(t *testing.T) {
	for _, body := range []int{minBody, 100_000} {
		s := settings{
			pairs: 2, duration: 100 * time.Millisecond, warmUp: 300 * time.Millisecond, conns: 8, body: body,
			relay: "assembled", check: true, tolerance: 100,
		}
		var out bytes.Buffer
		if err := s.run(&out); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		if n := strings.Count(out.String(), "\nrelay "); n != 3 {
			t.Errorf("%d lines of the relay, want 2 runs and the medians\n%s", n, &out)
		}
	}
}

func TestCheckFailsWhenTheGoalIsMissed(t *testing.T) {
	s := settings{
		pairs: 1, duration: 50 * time.Millisecond, warmUp: 300 * time.Millisecond, conns: 2, body: 100,
		relay: "assembled", check: true, tolerance: -100, // nothing is that good
	}
	if err := s.run(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "missed") {
		t.Errorf("%v, want that the goal is missed", err)
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := mid(c.of); got != c.want {
			t.Errorf("mid(%v) = %v, want %v", c.of, got, c.want)
		}
	}
}
