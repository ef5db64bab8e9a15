// Package top shows in a terminal what a relay is doing: each limit and what is
// used of it, the fullest first, and why calls wait.
//
//   - top.go: what is known, and what keys do.
//   - run.go: a terminal from start to end; keys.go: what it sends.
//   - state.go: as much of /api/v1/state as is shown.
//   - rows.go: what is listed, in which order.
//   - view.go, grid.go: how it looks; cells.go: how wide a text is.
//
// It is a client of the admin API like any other, so the relay may be on
// another machine. What comes from there is shown and never believed to be
// harmless: control characters are taken out.
package top

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Fetch asks the relay for its state, the answer of /api/v1/state.
type Fetch func(ctx context.Context) ([]byte, error)

// every is the time between two questions.
const every = time.Second

// Model is what is shown, and what keys do to it. Make it with New.
type Model struct {
	ctx   context.Context
	fetch Fetch
	relay string // whom fetch asks, for people

	state   *state // nil = no answer yet
	failed  error  // of the last question; nil = it was answered
	paused  bool
	sort    order
	filter  string
	typing  bool   // the filter
	picked  string // row.id of the selected row
	first   int    // of the rows on the screen
	w, h    int    // of the terminal
	visible []row  // as sorted and filtered
}

// New makes a Model that asks fetch until ctx ends; relay says whom that is.
func New(ctx context.Context, relay string, fetch Fetch) *Model {
	return &Model{ctx: ctx, fetch: fetch, relay: clean(relay), w: 80, h: 24}
}

type answer struct {
	state *state
	err   error
}

func (m *Model) ask() answer {
	raw, err := m.fetch(m.ctx)
	if err != nil {
		return answer{err: err}
	}
	s, err := parse(raw)
	return answer{s, err}
}

// take shows an answer, unless it was asked for before a pause.
func (m *Model) take(a answer) {
	if m.paused {
		return
	}
	if m.failed = a.err; a.err == nil {
		m.state = a.state
	}
}

// key does what a key is for, and reports whether that is to quit.
func (m *Model) key(k string) (quit bool) {
	if k == "ctrl+c" {
		return true
	}
	if m.typing {
		m.edit(k)
		return false
	}
	switch k {
	case "q":
		return true
	case "p", " ":
		m.paused = !m.paused
	case "s":
		m.sort = (m.sort + 1) % orders
	case "/":
		m.typing = true
	case "esc":
		m.filter = ""
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup":
		m.move(-m.room())
	case "pgdown":
		m.move(m.room())
	case "home", "g":
		m.move(-len(m.visible))
	case "end", "G":
		m.move(len(m.visible))
	}
	return false
}

// longestFilter is as much as anybody types.
const longestFilter = 60

func (m *Model) edit(k string) {
	switch k {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, ""
	case "backspace":
		if r := []rune(m.filter); len(r) > 0 {
			m.filter = string(r[:len(r)-1])
		}
	default:
		if utf8.RuneCountInString(k) > 1 {
			return // a key with a name
		}
		if text := clean(k); len(m.filter)+len(text) <= longestFilter {
			m.filter += text
		}
	}
}

// at is where the selected row is now.
func (m *Model) at() int {
	return max(0, slices.IndexFunc(m.visible, func(r row) bool { return r.id() == m.picked }))
}

func (m *Model) move(by int) {
	if len(m.visible) > 0 {
		m.picked = m.visible[min(max(m.at()+by, 0), len(m.visible)-1)].id()
	}
}

// arrange sorts and filters the rows, and keeps the selected one on the screen:
// it stays selected wherever it goes.
func (m *Model) arrange() {
	if m.state == nil {
		return
	}
	m.visible = slices.DeleteFunc(m.state.rows(), func(r row) bool { return !r.matches(m.filter) })
	m.sort.apply(m.visible)
	at := m.at()
	if m.picked == "" && at == 0 {
		m.first = 0 // nobody has chosen: the first row, whichever it is
	}
	m.first = min(m.first, at, max(0, len(m.visible)-m.room()))
	m.first = max(m.first, at-m.room()+1, 0)
}

// clean takes out what would do something to a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 {
			return -1
		}
		return r
	}, text)
}
