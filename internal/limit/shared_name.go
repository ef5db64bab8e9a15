package limit

import "strings"

// SharedName returns the name under which stores keep a method: without the
// names of its parameters, which may differ between replicas' tables.
// "/lol/match/v5/matches/{matchId}" is "/lol/match/v5/matches/{}".
func SharedName(method string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(method, '{')
		end := strings.IndexByte(method[max(open, 0):], '}')
		if open < 0 || end < 0 {
			break
		}
		b.WriteString(method[:open+1])
		method = method[open+end:]
	}
	if b.Len() == 0 {
		return method
	}
	return b.String() + method
}
