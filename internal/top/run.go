package top

import (
	"context"
	"io"
	"strings"
	"time"
)

// Terminal is where a Model is shown.
type Terminal struct {
	In    io.Reader // in raw mode: each key comes at once, and none is shown
	Out   io.Writer
	Size  func() (w, h int)
	Color bool
}

// resized is how often the terminal's size is looked at. Not every system has a
// signal for it.
const resized = 250 * time.Millisecond

// Run shows the relay on t until somebody quits or the context of New ends. A
// read of t.In may outlive it.
func (m *Model) Run(t Terminal) error {
	ctx, stop := context.WithCancel(m.ctx)
	defer stop()
	keys := readKeys(ctx, t.In)
	answers := make(chan answer, 1)
	ask := func() { go func() { answers <- m.ask() }() }
	s := &screen{Terminal: t}
	defer s.leave()
	sizes := time.NewTicker(resized)
	defer sizes.Stop()
	var again <-chan time.Time
	ask()
	for {
		m.w, m.h = t.Size()
		m.arrange()
		if err := s.show(m.frame()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case k, open := <-keys:
			if !open || m.key(k) {
				return nil
			}
		case a := <-answers:
			m.take(a)
			again = time.After(every)
		case <-again:
			if m.paused {
				again = time.After(every)
			} else {
				ask()
			}
		case <-sizes.C:
		}
	}
}

// readKeys returns the keys that are pressed, until ctx or the input ends.
func readKeys(ctx context.Context, in io.Reader) <-chan string {
	keys := make(chan string)
	go func() {
		defer close(keys)
		var rest []byte
		buf := make([]byte, 256)
		for {
			n, err := in.Read(buf)
			var pressed []string
			pressed, rest = parseKeys(append(rest, buf[:n]...))
			for _, k := range pressed {
				select {
				case keys <- k:
				case <-ctx.Done():
					return
				}
			}
			if err != nil || ctx.Err() != nil {
				return
			}
		}
	}()
	return keys
}

// screen is the terminal's alternate one, so that what was on it before comes
// back.
type screen struct {
	Terminal
	shown   string
	entered bool
}

const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b]2;riftrelay top\x07" // no cursor, no wrapping, a title
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	beginFrame  = "\x1b[?2026h\x1b[H" // shown at once when all of it is there
	endFrame    = "\x1b[J\x1b[?2026l"
)

var colorless = strings.NewReplacer("\x1b["+red+"m", "", "\x1b["+green+"m", "", "\x1b["+yellow+"m", "")

// show writes a frame unless it is there already.
func (s *screen) show(lines []string) error {
	var b strings.Builder
	b.WriteString(beginFrame)
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("\x1b[K") // first: at the end it takes a full line's last cell
		b.WriteString(l)
	}
	b.WriteString(endFrame)
	frame := b.String()
	if !s.Color {
		frame = colorless.Replace(frame)
	}
	if s.entered && frame == s.shown {
		return nil
	}
	s.shown = frame
	if !s.entered {
		s.entered = true
		frame = enterScreen + frame
	}
	_, err := io.WriteString(s.Out, frame)
	return err
}

func (s *screen) leave() {
	if s.entered {
		_, _ = io.WriteString(s.Out, leaveScreen) // the terminal is gone; there is nobody to tell
	}
}
