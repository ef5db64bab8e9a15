// Package top shows in a terminal what a relay is doing: each limit and what is
// used of it, the fullest first, and why calls wait.
//
//   - top.go: the program, and what keys do.
//   - state.go: as much of /api/v1/state as is shown.
//   - rows.go: what is listed, in which order.
//   - view.go: how it looks.
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

	tea "charm.land/bubbletea/v2"
)

// Fetch asks the relay for its state, the answer of /api/v1/state.
type Fetch func(ctx context.Context) ([]byte, error)

// every is the time between two questions.
const every = time.Second

// Model is the program for bubbletea. Make it with New.
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

type (
	answer struct {
		state *state
		err   error
	}
	tick struct{}
)

// Init asks for the first time.
func (m *Model) Init() tea.Cmd { return m.ask }

func (m *Model) ask() tea.Msg {
	raw, err := m.fetch(m.ctx)
	if err != nil {
		return answer{err: err}
	}
	s, err := parse(raw)
	return answer{s, err}
}

// Update takes a key, an answer, or another size of the terminal.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var next tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tick:
		if m.paused {
			next = wait()
		} else {
			next = m.ask
		}
	case answer:
		next = wait()
		if m.paused {
			return m, next // asked before
		}
		if m.failed = msg.err; msg.err == nil {
			m.state = msg.state
		}
	case tea.KeyPressMsg:
		next = m.key(msg)
	}
	m.arrange()
	return m, next
}

func wait() tea.Cmd { return tea.Tick(every, func(time.Time) tea.Msg { return tick{} }) }

func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		return tea.Quit
	}
	if m.typing {
		m.edit(k)
		return nil
	}
	switch k.String() {
	case "q":
		return tea.Quit
	case "p", "space":
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
	return nil
}

// longestFilter is as much as anybody types.
const longestFilter = 60

func (m *Model) edit(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, ""
	case "backspace":
		if r := []rune(m.filter); len(r) > 0 {
			m.filter = string(r[:len(r)-1])
		}
	default:
		if text := clean(k.Text); len(m.filter)+len(text) <= longestFilter {
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
