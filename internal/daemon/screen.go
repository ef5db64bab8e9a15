package daemon

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// screen is where a command shows what happens.
type screen struct {
	w     io.Writer
	isTTY bool // lines can be painted over
	color bool
	size  func() (w, h int) // in cells; nil = unknown
}

// newScreen finds out what f can do.
func newScreen(f *os.File, noColor bool) screen {
	fd := int(f.Fd())
	tty := term.IsTerminal(fd) && os.Getenv("TERM") != "dumb"
	if runtime.GOOS == "windows" && os.Getenv("WT_SESSION") == "" && os.Getenv("TERM") == "" {
		tty = false // the old console shows escape sequences as text
	}
	return screen{w: f, isTTY: tty, color: tty && !noColor, size: func() (int, int) {
		w, h, err := term.GetSize(fd)
		if err != nil {
			return 0, 0
		}
		return w, h
	}}
}

// cells is the size to draw for.
func (s screen) cells() (w, h int) {
	if s.size != nil {
		w, h = s.size()
	}
	if w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// painter keeps a block of lines up to date in place, without the alternate
// screen: what was there before stays above it.
type painter struct {
	out   screen
	rows  int // painted last time
	w, h  int
	begun bool
}

// paint replaces what was painted before. It is one write, and the terminal is
// asked to show it at once, so that nothing flickers.
func (p *painter) paint(lines []string) error {
	var b strings.Builder
	b.WriteString("\x1b[?2026h")
	if !p.begun {
		b.WriteString("\x1b[?25l\x1b[?7l") // no cursor, no wrapping of lines that a resize made too long
		p.begun = true
	}
	w, h := p.out.cells()
	switch {
	case p.rows > 0 && (w != p.w || h != p.h):
		b.WriteString("\x1b[H\x1b[J") // after a resize nobody knows where the old lines are
	case p.rows > 1:
		fmt.Fprintf(&b, "\r\x1b[%dA", p.rows-1)
	default:
		b.WriteString("\r")
	}
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(line)
		b.WriteString("\x1b[K")
	}
	b.WriteString("\x1b[J\x1b[?2026l")
	p.rows, p.w, p.h = len(lines), w, h
	_, err := io.WriteString(p.out.w, b.String())
	return err
}

// end takes the block away and returns the cursor back.
func (p *painter) end() error {
	if !p.begun {
		return nil
	}
	up := ""
	if p.rows > 1 {
		up = fmt.Sprintf("\x1b[%dA", p.rows-1)
	}
	p.begun, p.rows = false, 0
	_, err := io.WriteString(p.out.w, "\r"+up+"\x1b[J\x1b[?7h\x1b[?25h")
	return err
}

// ink colours text, or doesn't.
type ink bool

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (i ink) in(style, s string) string {
	if !i || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// clockOf is "2:05".
func clockOf(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// short is a wait, always five cells wide.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%4.1fs", d.Seconds())
	case d < 100*time.Minute:
		return fmt.Sprintf("%4.0fs", d.Seconds())
	}
	return fmt.Sprintf("%4.0fh", d.Hours())
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d/time.Second)) }

func pad(s string, cells int) string {
	return s + strings.Repeat(" ", max(0, cells-utf8.RuneCountInString(s)))
}

// clip shortens s at its end.
func clip(s string, cells int) string {
	r := []rune(s)
	if len(r) <= cells {
		return s
	}
	return string(r[:max(0, cells-1)]) + "…"
}

// tail shortens a path at its beginning, which says the least.
func tail(path string, cells int) string {
	r := []rune(path)
	if len(r) <= cells {
		return path
	}
	return "…" + string(r[len(r)-max(0, cells-1):])
}

// clipPainted cuts what is already coloured, without counting the colours.
func clipPainted(s string, cells int) string {
	var b strings.Builder
	n, escape := 0, false
	for _, r := range s {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		case n == cells:
			continue // but later colours still end
		default:
			n++
		}
		b.WriteRune(r)
	}
	return b.String()
}
