package admin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"riftrelay"
)

// Estimate is what calls would wait now, if nothing else came.
type Estimate struct {
	Host     string `json:"host"`
	Method   string `json:"method"`
	Priority string `json:"priority"`
	Calls    int    `json:"calls"`
	// Wait is until the last of the calls would start; null when it would be refused.
	Wait *Seconds `json:"wait_seconds"`
	// Why is a sentence: what holds back the first of them. Empty when nothing does.
	Why string `json:"why,omitempty"`
	// Refused is the reason of a refusal, as in the relay's own answers.
	Refused string `json:"refused,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// maxCalls bounds the calls of one estimate, whose cost grows with them.
const maxCalls = 100_000

func estimate(l Limiter, m Matcher, q url.Values) (status int, v any) {
	bad := func(format string, args ...any) (int, any) {
		return http.StatusBadRequest, problem{fmt.Sprintf(format, args...)}
	}
	for name := range q {
		switch name {
		case "host", "path", "verb", "priority", "calls":
		default:
			return bad("there is no parameter %.50q; allowed: host, path, verb, priority, calls", name)
		}
	}
	var o riftrelay.Options
	switch p := q.Get("priority"); p {
	case "", "normal":
	case "high":
		o.Priority = riftrelay.High
	default:
		return bad("priority is %.50q; allowed: normal, high", p)
	}
	host, path, verb := q.Get("host"), q.Get("path"), q.Get("verb")
	if host == "" || path == "" {
		return bad("host or path is missing; allowed: host=euw1&path=/lol/status/v4/platform-data")
	}
	if verb == "" {
		verb = http.MethodGet
	}
	calls := 1
	if text := q.Get("calls"); text != "" {
		var err error
		if calls, err = strconv.Atoi(text); err != nil || calls < 1 || calls > maxCalls {
			return bad("calls is %.50q; allowed: 1 to %d", text, maxCalls)
		}
	}
	path, _, _ = strings.Cut(path, "?")
	r, err := m.Match(strings.ToUpper(verb), host, path)
	if err != nil {
		return bad("%s", err)
	}
	e := Estimate{Host: r.Host, Method: r.Method.String(), Priority: o.Priority.String(), Calls: calls}
	wait, why, err := l.Estimate(r, path, calls, o)
	var rejected *riftrelay.RejectedError
	switch {
	case err == nil:
		e.Wait = known(wait)
		if why.Kind != riftrelay.WaitTurn {
			e.Why = why.String()
		}
	case errors.As(err, &rejected):
		e.Refused, e.Detail = string(rejected.Reason), rejected.Detail
	default:
		return http.StatusInternalServerError, problem{err.Error()}
	}
	return http.StatusOK, e
}
