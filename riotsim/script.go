package riotsim

import "time"

// Script says what becomes of the next calls of a host and method ("" = any; see Rule.Method): the first
// gets the first answer, the second the second, and so on; then all is as usual. A call that the
// limits refuse takes none of them. Scripts for the same calls follow each other. Inject is for what
// lasts, or strikes by chance. A wrong answer or method ends the test.
//
//	srv.Script("euw1", "match-v5",
//		riotsim.RateLimited(riotsim.Service, 2*time.Second),
//		riotsim.Repeat(3, riotsim.Status(503)),
//		riotsim.Pass())
func (s *TestServer) Script(host, method string, answers ...Fault) {
	s.t.Helper()
	faults := make([]Fault, len(answers))
	for i, f := range answers {
		f.Host, f.Method = host, method
		if f.Times == 0 {
			f.Times = 1
		}
		faults[i] = f
	}
	if err := s.Inject(faults...); err != nil {
		s.t.Fatalf("riotsim: Script: %v", err)
	}
}

// RateLimited is a 429 of a kind, although the limits have room: no violation. retryAfter is what
// Retry-After says, rounded up to whole seconds; 0 = no such header. Untyped, or None, has no
// X-Rate-Limit-Type (R13).
func RateLimited(kind Kind, retryAfter time.Duration) Fault {
	if kind == None {
		kind = Untyped
	}
	if retryAfter == 0 {
		retryAfter = -1
	}
	return Fault{Kind: kind, Wait: retryAfter}
}

// Status is an answer by the service behind the edge, such as 404 or 503: counted, with rate limit
// headers and an error in JSON (R3).
func Status(code int) Fault { return Fault{Status: code} }

// Gateway is a page of HTML by what stands before the edge, such as a 403 or a 502: not counted, and
// without rate limit headers (R3).
func Gateway(status int) Fault { return Fault{Gateway: true, Status: status} }

// JSON is the usual answer with a body of yours, for a program that looks into it.
func JSON(body string) Fault { return Fault{Body: []byte(body)} }

// Late is the usual answer, d later than usual. If that is longer than the program's patience, the
// call hangs (R21); it is counted all the same.
func Late(d time.Duration) Fault { return Fault{Hang: d} }

// Reset breaks the connection instead of answering. The call is counted all the same (R3).
func Reset() Fault { return Fault{Reset: true} }

// Pass is the usual answer.
func Pass() Fault { return Fault{} }

// Repeat is an answer n times, at least once.
func Repeat(n int, answer Fault) Fault {
	answer.Times = max(n, 1)
	return answer
}
