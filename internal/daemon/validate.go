package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/route"
)

// validate shows the settings in force, which are right, or there would be
// none. With --online it also tries the keys.
func (p Process) validate(ctx context.Context, in *config.Invocation) error {
	for _, w := range in.Warnings {
		say(p.Stderr, "riftrelay: %s\n", w)
	}
	if _, err := io.WriteString(p.Stdout, in.Settings.Describe()); err != nil || !in.Validate.Online {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-p.Signals:
			stop()
		case <-ctx.Done():
		}
	}()
	return tryKeys(ctx, in.Settings, p.Stdout)
}

// keyPatience is how long one key's call may take, with its waits.
const keyPatience = 30 * time.Second

// tryKeys makes a cheap call with each key and prints what became of it. The
// calls go through the library as those of the relay do, each with a limiter
// of its key alone: neither another key's answer nor KEY_ROUTES may stand for
// it. A key that isn't known is an error.
func tryKeys(ctx context.Context, s *config.Settings, out io.Writer) error {
	calls := cheapCalls(s.Table)
	if len(calls) == 0 {
		return errors.New("--online: no method to try keys with; allowed: a METHODS_FILE with a GET without parameters, such as /lol/status/v4/platform-data")
	}
	base := newBase(s)
	defer base.CloseIdleConnections()
	keys := s.Keys()
	width := 0
	for _, k := range keys {
		width = max(width, utf8.RuneCountInString(k.Name))
	}
	say(out, "\nKeys, tried by a call each\n")
	var bad []string
	for _, k := range keys {
		v := tryKey(ctx, s, base, k, calls)
		if !v.ok {
			bad = append(bad, k.Name)
		}
		say(out, "  %s%s  %-13s  %s\n", k.Name, strings.Repeat(" ", width-utf8.RuneCountInString(k.Name)), v.word, hideKeys(v.detail))
	}
	if len(bad) > 0 {
		return fmt.Errorf("--online: %d of %d keys can't be used: %s", len(bad), len(keys), strings.Join(bad, ", "))
	}
	return nil
}

// verdict is what became of a key's call.
type verdict struct {
	ok           bool
	word, detail string
}

// cheapCalls are calls that say whether a key is known: the status of one game
// after the other, for a key may be refused a game that it isn't for (R18).
func cheapCalls(t *route.Table) []route.Route {
	var calls []route.Route
	for _, m := range t.Methods() {
		if m.Verb != http.MethodGet || m.Auth != route.AuthKey || strings.Contains(m.Template, "{") {
			continue
		}
		hosts := m.Hosts
		if hosts == nil {
			hosts = t.Hosts()
		}
		if len(hosts) == 0 {
			continue
		}
		host := hosts[0]
		if slices.Contains(hosts, "euw1") {
			host = "euw1"
		}
		calls = append(calls, route.Route{Host: host, Method: m})
	}
	rank := func(r route.Route) int {
		if strings.HasSuffix(r.Method.Template, "/platform-data") {
			return 0 // a few kB, and counted apart from what anybody does
		}
		return 1
	}
	slices.SortStableFunc(calls, func(a, b route.Route) int { return cmp.Compare(rank(a), rank(b)) })
	const most = 4 // games
	return calls[:min(len(calls), most)]
}

func tryKey(ctx context.Context, s *config.Settings, base http.RoundTripper, k riftrelay.Key, calls []route.Route) verdict {
	ctx, cancel := context.WithTimeout(ctx, keyPatience)
	defer cancel()
	var last verdict
	for _, r := range calls {
		if last = callWith(ctx, s, base, k, r); last.word != refused {
			return last
		}
	}
	return last
}

const refused = "refused"

func callWith(ctx context.Context, s *config.Settings, base http.RoundTripper, k riftrelay.Key, r route.Route) verdict {
	limits := s.Limiter()
	limits.Keys, limits.Groups, limits.Budgets, limits.Hooks = []riftrelay.Key{k}, nil, nil, riftrelay.Hooks{}
	limiter, err := riftrelay.New(limits)
	if err != nil {
		return verdict{word: "not tried", detail: err.Error()}
	}
	defer func() { _ = limiter.Close() }() // never fails
	t := &riftrelay.Transport{Limiter: limiter, Base: base, Upstream: s.UpstreamURL, Timeout: s.UpstreamTimeout}
	req, err := http.NewRequestWithContext(ctx, r.Method.Verb, "https://"+r.Host+".api.riotgames.com"+r.Method.Template, http.NoBody)
	if err != nil {
		return verdict{word: "not tried", detail: err.Error()}
	}
	began := time.Now()
	resp, err := t.RoundTrip(req)
	if err != nil {
		return verdict{word: "network error", detail: at(r) + oneLine(err)}
	}
	defer resp.Body.Close()
	took := time.Since(began).Round(time.Millisecond)
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil && resp.StatusCode == http.StatusOK {
		return verdict{word: "network error", detail: at(r) + oneLine(err)}
	}
	answer := fmt.Sprintf("%s%d %s in %v", at(r), resp.StatusCode, message(body, resp.StatusCode), took)
	switch {
	case resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusTooManyRequests:
		if app := resp.Header.Get("X-App-Rate-Limit"); app != "" {
			answer += ", application limit " + app
		}
		return verdict{true, "ok", answer}
	case resp.StatusCode == http.StatusUnauthorized:
		return verdict{word: "unknown key", detail: answer}
	case resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusBadRequest:
		return verdict{word: refused, detail: answer}
	}
	return verdict{word: "riot is down", detail: answer}
}

func at(r route.Route) string { return r.Host + " " + r.Method.Template + ": " }

// message is what Riot says, in one of its two forms (R22), or what the status
// means.
func message(body []byte, status int) string {
	var e struct {
		Message string
		Status  struct{ Message string }
	}
	_ = json.Unmarshal(body, &e) // what can't be read says nothing
	text := cmp.Or(e.Status.Message, e.Message)
	if status == http.StatusOK || text == "" {
		text = http.StatusText(status)
	}
	const most = 100
	return fmt.Sprintf("%.*s", most, strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text))
}
