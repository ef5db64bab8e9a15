package window

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

//go:embed testdata/answers.txt
var answersText string

type golden struct {
	name   string
	rso    bool
	answer Answer
	want   string
}

var wall = time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC)

func goldenAnswers(t testing.TB) (all []golden) {
	t.Helper()
	for block := range strings.SplitSeq(answersText, "\n\n") {
		if strings.HasPrefix(block, "#") {
			continue
		}
		var g golden
		g.answer.Wall = wall
		for i, line := range strings.Split(strings.TrimSpace(block), "\n") {
			if i == 0 {
				g.rso = strings.HasSuffix(line, " rso")
				if _, err := fmt.Sscan(line, &g.name, &g.answer.Status); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				continue
			}
			if strings.HasPrefix(line, "= ") {
				g.want += line + "\n"
				continue
			}
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "X-App-Rate-Limit":
				g.answer.AppLimit = value
			case "X-App-Rate-Limit-Count":
				g.answer.AppCount = value
			case "X-Method-Rate-Limit":
				g.answer.MethodLimit = value
			case "X-Method-Rate-Limit-Count":
				g.answer.MethodCount = value
			case "X-Rate-Limit-Type":
				g.answer.Type = value
			case "Retry-After":
				g.answer.RetryAfter = append(g.answer.RetryAfter, value)
			}
		}
		all = append(all, g)
	}
	if len(all) < 28 {
		t.Fatalf("%d answers in testdata/answers.txt", len(all))
	}
	return all
}

func TestAnswers(t *testing.T) {
	for _, g := range goldenAnswers(t) {
		t.Run(g.name, func(t *testing.T) {
			r := newRig()
			r.app = NewScope(0, []limit.Quota{{N: 20, W: time.Second}, {N: 100, W: 2 * time.Minute}})
			r.rso = g.rso
			now := ms[limit.Instant](1000)
			h := r.take(now)
			h.Sent(now, j150)
			now = ms[limit.Instant](1050)
			lesson := r.learn(now, h, g.answer)
			if got := r.describe(now, lesson); got != g.want {
				t.Errorf("got\n%swant\n%s", got, g.want)
			}
		})
	}
}

// describe writes the state of a rig as testdata/answers.txt does.
func (r *rig) describe(now limit.Instant, l Lesson) string {
	var out bytes.Buffer
	var opened []string
	for _, s := range []struct {
		name  string
		scope *Scope
	}{{"app", r.app}, {"method", r.method}} {
		line := "= " + s.name
		for _, w := range s.scope.State(now, j150).Windows {
			line += fmt.Sprintf(" %d/%v", w.Used, w.Quota)
		}
		if len(s.scope.windows) > 0 {
			fmt.Fprintln(&out, line)
		}
		for _, w := range s.scope.windows {
			if w.opened == now {
				opened = append(opened, fmt.Sprint(w.quota.W.Seconds()))
			}
		}
	}
	if len(opened) > 0 {
		fmt.Fprintln(&out, "= opened "+strings.Join(opened, " "))
	}
	for _, g := range []struct {
		name string
		gate *Gate
	}{{"app", &r.app.Gate}, {"method", &r.method.Gate}, {"service", &r.service}} {
		if d, kind := g.gate.Cooldown(now); kind != limit.NotLimited {
			wait := d.String()
			if d < time.Second {
				wait = fmt.Sprintf("%gs", d.Seconds())
			}
			fmt.Fprintf(&out, "= stop %s %v %s\n", g.name, kind, wait)
			if kind != l.Kind || l.Until != now.Add(d) {
				fmt.Fprintf(&out, "but the lesson is %+v\n", l)
			}
		}
	}
	return out.String()
}

// rig is what a call needs: the gate and the scopes of one method on one host.
type rig struct {
	service     Gate
	app, method *Scope
	rso         bool // the call has no key
	live        []*Hold
}

func newRig() *rig { return &rig{app: NewScope(0, nil), method: NewScope(0, nil)} }

// rigWith makes a rig that knows its limits.
func rigWith(app, method string) *rig {
	r := newRig()
	h := r.take(0)
	h.Sent(0, j150)
	r.learn(0, h, Answer{Status: 200, AppLimit: app, MethodLimit: method})
	for _, s := range []*Scope{r.app, r.method} { // as if long ago
		for i, w := range s.windows {
			s.windows[i] = newWindow(w.quota)
		}
	}
	return r
}

func (r *rig) scopes() (app, method *Scope) {
	if r.rso {
		return nil, r.method
	}
	return r.app, r.method
}

func (r *rig) next(now limit.Instant) limit.Instant {
	p := Policy{Burst: 1, Margin: j150}
	return max(r.service.Next(now), r.app.Next(now, p), r.method.Next(now, p))
}

func (r *rig) take(now limit.Instant) *Hold {
	h := new(Hold)
	app, method := r.scopes()
	h.Take(now, Policy{Burst: 1, Margin: j150}, &r.service, app, method)
	r.live = append(r.live, h)
	return h
}

// send is take and Sent in one.
func (r *rig) send(now limit.Instant) *Hold {
	h := r.take(now)
	h.Sent(now, j150)
	return h
}

// learn does with an answer what its caller has to: Learn, Join, Settle.
func (r *rig) learn(now limit.Instant, h *Hold, a Answer) Lesson {
	app, method := r.scopes()
	l := Learn(now, a, h, &r.service, app, method, j150)
	if l.Fresh {
		for _, other := range r.live {
			other.Join(now, j150)
		}
	}
	h.Settle(now, j150)
	return l
}
