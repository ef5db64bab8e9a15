package route

import "strconv"

// ReasonInvalidRoute is the Reason of every [Error].
const ReasonInvalidRoute = "invalid_route"

// Problem tells the errors of this package apart.
type Problem uint8

const (
	// Malformed: the path or the verb can't be forwarded at all. Status 400.
	Malformed Problem = iota + 1
	// NoPath: there is nothing after the host, or no host either ("/", "/favicon.ico", "/euw1/"). Such a request is
	// no call to Riot. Status 404, as all that follow.
	NoPath
	// UnknownHost: the table has no such host.
	UnknownHost
	// UnknownPath: no method has this path.
	UnknownPath
	// UnknownVerb: methods have this path, none with this verb.
	UnknownVerb
	// NotServed: the method is known, this host doesn't serve it.
	NotServed
)

// Error is why a request has no route. It is the only type of error that Split and Match return.
type Error struct {
	Status  int     // the HTTP status that says it best: 400 or 404
	Reason  string  // always ReasonInvalidRoute
	Problem Problem // which of them it is
	Detail  string  // a sentence for the caller of the API: what is wrong, and what would be right
	Nearest string  // the nearest known host or path template, "" if none is near
}

// Error returns Detail.
func (e *Error) Error() string { return e.Detail }

func refusal(status int, p Problem, detail, nearest string) *Error {
	return &Error{Status: status, Reason: ReasonInvalidRoute, Problem: p, Detail: detail, Nearest: nearest}
}

// quote shows a caller's bytes in a message: printable, and of bounded length.
func quote(s string) string {
	const most = 100
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
