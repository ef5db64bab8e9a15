package daemon

import (
	"strings"
	"testing"
)

// A token that a client has put into an id, a path, a budget's name or a Host, its
// own or another's, comes back in no answer and is in no log.
func TestNoTokenComesBack(t *testing.T) {
	p := startPlainly(t, "CLIENT_TOKENS=web="+webToken+",bot="+botToken)
	for name, tt := range map[string]struct {
		path, host string
		headers    []string
	}{
		"an id":              {status, "", []string{"X-Request-Id", "id-" + botToken}},
		"an id, its own":     {status, "", []string{"X-Request-Id", "id-" + webToken}},
		"an id, no token":    {status, "", []string{"X-Request-Id", "id-" + botToken, "X-Relay-Token", ""}},
		"a budget":           {status, "", []string{"X-Rate-Budget", botToken}},
		"a path":             {"/euw1/lol/x" + botToken, "", nil},
		"a path of one part": {"/" + botToken, "", nil},
		"a Host":             {status, botToken + ".example", nil},
	} {
		a := visit(t, p.front+tt.path, tt.host, append([]string{"X-Relay-Token", webToken}, tt.headers...)...)
		var said strings.Builder
		a.header.Write(&said)
		if said.WriteString(a.body); a.err != nil || strings.Contains(said.String(), "CANARY") {
			t.Errorf("%s: %v %s", name, a.err, &said)
		}
	}
	p.stop(t) // which looks for tokens in the log
}
