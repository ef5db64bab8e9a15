package top

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what there is as what there should be")

// relay is one whose answer a test chooses.
type relay struct {
	answer []byte
	err    error
	asked  int
}

func (r *relay) fetch(context.Context) ([]byte, error) {
	r.asked++
	return r.answer, r.err
}

// terminal is a program whose frames can be looked at.
type terminal struct {
	*Model
	relay *relay
}

// newTerminal watches a relay whose answer is the admin API's own golden one.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	raw, err := os.ReadFile("../admin/testdata/state.json")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{answer: raw}
	return &terminal{Model: New(t.Context(), "127.0.0.1:8986", r.fetch), relay: r}
}

// second has it ask, and the answer come.
func (x *terminal) second() {
	x.take(x.ask())
	x.arrange()
}

func (x *terminal) resize(w, h int) {
	x.w, x.h = w, h
	x.arrange()
}

// press returns whether the last key quits.
func (x *terminal) press(keys ...string) (quit bool) {
	for _, k := range keys {
		quit = x.key(k)
		x.arrange()
	}
	return quit
}

func (x *terminal) frame() string { return strings.Join(x.Model.frame(), "\n") }

// plain is the frame without colours, as under NO_COLOR.
func (x *terminal) plain() string {
	lines := strings.Split(strip(x.frame()), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r", ""), got); diff != "" {
		t.Errorf("%s:\n%s", name, diff)
	}
}

func TestFrames(t *testing.T) {
	x := newTerminal(t)
	golden(t, "asking.txt", x.plain())
	x.second()
	golden(t, "pressure.txt", x.plain())
	x.press("down", "down", "s", "s")
	golden(t, "name.txt", x.plain())
	x.press("/", "m", "a", "t", "c", "h", "x", "backspace")
	golden(t, "filtering.txt", x.plain())
	x.press("enter", "p")
	x.resize(160, 30)
	golden(t, "wide-paused.txt", x.plain())
}

// Replicas and their store have a line of their own, while a store is used.
func TestStore(t *testing.T) {
	x := newTerminal(t)
	for name, store := range map[string]string{
		"store-up.txt":     `{"replica":"a","replicas":3,"trip_seconds":0.002,"away":"","away_seconds":0,"alone":false}`,
		"store-alone.txt":  `{"replica":"a","replicas":3,"trip_seconds":0.002,"away":"dial tcp 10.0.0.7:6379: connect: connection \u001b[31mrefused","away_seconds":12.5,"alone":true}`,
		"store-only.txt":   `{"replica":"a","replicas":1,"trip_seconds":0.002,"away":"no answer within 100ms","away_seconds":3,"alone":true}`,
		"store-closed.txt": `{"replica":"a","replicas":1,"trip_seconds":0.002,"away":"no answer within 100ms","away_seconds":70,"alone":false}`,
	} {
		var s map[string]any
		if err := json.Unmarshal(newTerminal(t).relay.answer, &s); err != nil {
			t.Fatal(err)
		}
		s["store"] = json.RawMessage(store)
		window := s["scopes"].([]any)[0].(map[string]any)["windows"].([]any)[1].(map[string]any)
		window["peers"], window["ours"] = 30, 55
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		x.relay.answer = raw
		x.second()
		x.press("/", "a", "p", "p", "l", "i", "enter")
		golden(t, name, x.plain())
		x.press("/", "esc")
	}
	x.relay.err = errors.New("gone")
	x.second()
	if text := x.plain(); strings.Contains(text, "store") {
		t.Errorf("a store that nobody has heard of lately:\n%s", text)
	}
}

// Whatever the terminal, no line is cut by it and none is left over.
func TestFrameFits(t *testing.T) {
	x := newTerminal(t)
	for _, picture := range []func(){func() {}, x.second, func() { x.press("/", "q") }, func() { x.relay.err = errors.New(strings.Repeat("long ", 100)); x.second() }} {
		picture()
		for _, w := range []int{1, 20, 79, 80, 81, 200} {
			for _, h := range []int{1, 5, 12, 24, 60} {
				x.resize(w, h)
				lines := strings.Split(x.frame(), "\n")
				if len(lines) > h {
					t.Errorf("%d×%d: %d lines", w, h, len(lines))
				}
				for _, l := range lines {
					if width(l) > w {
						t.Errorf("%d×%d: %q", w, h, l)
					}
				}
			}
		}
	}
}

// A selected row stays selected when others overtake it, and stays in sight.
func TestSelectionFollowsTheRow(t *testing.T) {
	x := newTerminal(t)
	x.relay.answer = busy(40, 0)
	x.second()
	x.press("end")
	picked := x.picked
	if picked == "" || !strings.Contains(x.plain(), "> k   h39") {
		t.Fatalf("end selects %q:\n%s", picked, x.plain())
	}
	x.relay.answer = busy(40, 39) // now it is the fullest
	x.second()
	if x.picked != picked || x.at() != 0 || !strings.Contains(x.plain(), "> k   h39") {
		t.Errorf("row %d is selected, in\n%s", x.at(), x.plain())
	}
	if !strings.Contains(x.plain(), "1-12 of 40") {
		t.Errorf("it doesn't say that there is more:\n%s", x.plain())
	}
	x.press("home", "pgdown", "up", "j", "k", "pgup", "g", "G")
	if x.at() != 39 {
		t.Errorf("row %d", x.at())
	}
	x.relay.answer = busy(3, 0)
	x.second()
	if x.at() != 0 || x.first != 0 {
		t.Errorf("row %d of 3, from %d", x.at(), x.first)
	}
}

// busy is a state of n hosts, of which one is fuller than the others.
func busy(n, full int) []byte {
	var scopes []string
	for i := range n {
		used := n - i
		if i == full {
			used = 90
		}
		scopes = append(scopes, fmt.Sprintf(`{"key":"k","host":"h%02d","windows":[{"limit":100,"window_seconds":120,"used":%d}]}`, i, used))
	}
	return []byte(`{"at":"2026-07-01T12:00:00Z","scopes":[` + strings.Join(scopes, ",") + `]}`)
}

func TestPause(t *testing.T) {
	x := newTerminal(t)
	x.second()
	before := x.plain()
	late := x.ask() // under way when the key is pressed
	x.press("p")
	x.relay.answer = busy(1, 0)
	x.take(late)
	x.second()
	if got := x.plain(); strings.ReplaceAll(strings.ReplaceAll(got, "  paused", ""), "go on", "pause") != before {
		t.Errorf("paused, but\n%s", cmp.Diff(before, got))
	}
	x.press(" ")
	x.second()
	if !strings.Contains(x.plain(), "h00") {
		t.Error("it doesn't go on")
	}
}

func TestQuit(t *testing.T) {
	for _, keys := range [][]string{{"q"}, {"ctrl+c"}, {"/", "q", "ctrl+c"}, {"/", "q", "enter", "q"}} {
		if !newTerminal(t).press(keys...) {
			t.Errorf("%q doesn't quit", keys)
		}
	}
	if newTerminal(t).press("/", "q") {
		t.Error("q in a filter quits")
	}
}

// A relay that is gone is told of, with what was last known of it; then it is
// back.
func TestRelayGone(t *testing.T) {
	x := newTerminal(t)
	x.relay.err = errors.New("nobody answers\x1b[31m")
	x.second()
	golden(t, "nobody.txt", x.plain())
	x.relay.err = nil
	x.second()
	x.relay.err = errors.New("nobody answers")
	x.second()
	if p := x.plain(); !strings.Contains(p, "no answer since 12:03:04: nobody answers") || !strings.Contains(p, "americas") {
		t.Errorf("got\n%s", p)
	}
	x.relay.err, x.relay.answer = nil, []byte(`{"name":"something else"}`)
	x.second()
	if p := x.plain(); !strings.Contains(p, "that is no state of a relay") {
		t.Errorf("got\n%s", p)
	}
}

// Names and reasons of a relay can't do anything to the terminal.
func TestHostileRelay(t *testing.T) {
	x := newTerminal(t)
	evil := "\x1b]0;owned\x07\x1b[2J\r\n\u009b31m\u202egnp"
	word, _ := json.Marshal(evil)
	x.relay.answer = []byte(strings.NewReplacer("EVIL", string(word)).Replace(
		`{"at":"2026-07-01T12:00:00Z","keys":[{"name":EVIL,"state":EVIL}],"scopes":[{"key":EVIL,"host":EVIL,"method":EVIL,"cooldown_seconds":3,"cooldown_cause":EVIL,"windows":null}],
		"queues":[{"host":EVIL,"method":EVIL,"priority":EVIL,"budget":EVIL,"depth":1,"why":{"key":EVIL,"text":EVIL}}]}`))
	x.second()
	got := strip(strings.ReplaceAll(x.frame(), "\n", ""))
	if clean(got) != got || strings.Contains(x.frame(), "\x1b]") || strings.Contains(x.frame(), "\x1b[2J") {
		t.Errorf("%q", x.frame())
	}
	if !strings.Contains(got, "owned") {
		t.Errorf("the rest of the text is gone: %q", got)
	}
}
