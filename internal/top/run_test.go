package top

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseKeys(t *testing.T) {
	for in, want := range map[string]string{
		"q":                          "q",
		"\x1b[A\x1bOB\x1b[5~\x1b[6~": "up down pgup pgdown",
		"\x1b[H\x1b[4~\x1b[1;5C\x1b": "home end esc",
		"\x03\r\x7f\x01é世":           "ctrl+c enter backspace é 世",
		"\x1b[200~\x1b[Mx":           "x", // sequences of no key that we know
		"a\xffb":                     "a \xff b",
		"\x1b[12":                    "",
		"\x1b\x1b[B":                 "esc down",
		"\xe4\xb8":                   "", // the rest is to come
	} {
		keys, rest := parseKeys([]byte(in))
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if string(rest) != "" && in != "\xe4\xb8" {
			t.Errorf("%q: rest %q", in, rest)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("\x1b[A"))
	f.Fuzz(func(t *testing.T, b []byte) {
		keys, rest := parseKeys(slices.Clone(b))
		if len(rest) > 3 || len(keys) > len(b) {
			t.Errorf("%d keys, rest %q", len(keys), rest)
		}
	})
}

func TestCells(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "世界": 4, "e\u0301": 1, paint(red, "ab"): 2, "…█": 2, "👍": 2} {
		if got := width(s); got != want {
			t.Errorf("width(%q) = %d, want %d", s, got, want)
		}
	}
	for _, c := range []struct {
		n               int
		s, right, start string
	}{
		{3, "abc", "abc", "abc"},
		{3, "abcd", "ab…", "…cd"},
		{3, "世界", "世…", "…界"},
		{2, "世界", "…", "…"},
		{0, "ab", "", "…"},
	} {
		if got := cut(c.s, c.n); got != c.right {
			t.Errorf("cut(%q, %d) = %q, want %q", c.s, c.n, got, c.right)
		}
		if got := cutLeft(c.s, c.n); got != c.start {
			t.Errorf("cutLeft(%q, %d) = %q, want %q", c.s, c.n, got, c.start)
		}
	}
	if got := cut(paint(red, "abcd")+"e", 3); got != "\x1b[31mab…\x1b[m" {
		t.Errorf("a colour doesn't end: %q", got)
	}
	if got := wrap("one two three fourteen", 7); !slices.Equal(got, []string{"one two", "three", "fourtee", "n"}) {
		t.Errorf("%q", got)
	}
}

// display is a terminal that remembers what it was sent.
type display struct {
	mu  sync.Mutex
	all bytes.Buffer
	err error
}

func (d *display) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all.Write(b)
	return len(b), d.err
}

func (d *display) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all.String()
}

// A terminal is as it was once the program has ended, however it ended.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, end := range map[string]func(stop func(), keys *io.PipeWriter){
			"a key":     func(_ func(), keys *io.PipeWriter) { _, _ = keys.Write([]byte("q")) },
			"a context": func(stop func(), _ *io.PipeWriter) { stop() },
			"no input":  func(_ func(), keys *io.PipeWriter) { keys.Close() },
		} {
			ctx, stop := context.WithCancel(t.Context())
			r := &relay{answer: busy(3, 0)}
			in, keys := io.Pipe()
			d := &display{}
			var w atomic.Int32 // virtual time orders no writes and reads for the race detector
			w.Store(80)
			done := make(chan error)
			go func() {
				done <- New(ctx, "here", r.fetch).Run(Terminal{In: in, Out: d, Size: func() (int, int) { return int(w.Load()), 24 }})
			}()
			time.Sleep(10*every + every/2)
			synctest.Wait()
			if r.asked != 11 {
				t.Errorf("%s: asked %d times", name, r.asked)
			}
			before := len(d.text())
			if _, err := keys.Write([]byte("j")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if !strings.Contains(d.text()[before:], "> k   h01") {
				t.Errorf("%s: a key does nothing: %q", name, d.text()[before:])
			}
			before = len(d.text())
			w.Store(40)
			time.Sleep(resized)
			synctest.Wait()
			if len(d.text()) == before {
				t.Errorf("%s: another size changes nothing", name)
			}
			end(stop, keys)
			if err := <-done; err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got := d.text()
			if !strings.HasPrefix(got, enterScreen) || !strings.HasSuffix(got, leaveScreen) || strings.Count(got, enterScreen) != 1 {
				t.Errorf("%s: %q", name, got)
			}
			if strings.Contains(got, "\x1b["+green+"m") {
				t.Errorf("%s: colours, though nobody wants them", name)
			}
			keys.Close()
			stop()
			synctest.Wait()
		}
	})
}

func TestRunTerminalGone(t *testing.T) {
	d := &display{err: errors.New("gone")}
	in, keys := io.Pipe()
	defer keys.Close()
	err := New(t.Context(), "here", (&relay{answer: busy(1, 0)}).fetch).Run(Terminal{In: in, Out: d, Size: func() (int, int) { return 80, 24 }})
	if err == nil {
		t.Error("no error, though nothing can be shown")
	}
}
