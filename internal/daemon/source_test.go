package daemon

import (
	"strings"
	"testing"

	"riftrelay/riotsim"
)

// A Riot ID with its # is answered with the form that was meant, raw and escaped,
// and spends nothing.
func TestRiotIDsWithTheirNumberSign(t *testing.T) {
	p := startPlainly(t)
	at := &rig{front: p.front}
	for target, want := range map[string]string{"Faker%23KR1": "404", "Faker%2523KR1": "404", "Faker%2FKR1": "404", "Faker#KR1": "400"} {
		raw := at.exchange(t, "GET /asia"+byRiotID+target+" HTTP/1.1\r\n"+lastOne+"\r\n")
		if !strings.HasPrefix(raw, "HTTP/1.1 "+want+" ") || !strings.Contains(raw, "X-Riftrelay-Reason: invalid_route\r\n") || !strings.Contains(raw, `as in \"`+byRiotID+`Faker/KR1\"`) {
			t.Errorf("%s: %q", target, raw)
		}
	}
	raw := at.exchange(t, "GET /asia"+byRiotID+"Faker HTTP/1.1\r\n"+lastOne+"\r\n") // curl takes #KR1 for a fragment
	if !strings.Contains(raw, byRiotID+"{gameName}/{tagLine}") {
		t.Errorf("without a tag: %q", raw)
	}
	p.stop(t)
}

// What net/http refuses before any handler sees it has Riot's form, the source
// and a reason, as all other answers have.
func TestEveryAnswerNamesItsSource(t *testing.T) {
	g := startRig(t, riotsim.Config{}, nil)
	for name, c := range map[string]struct{ raw, status, reason string }{
		"a lone %":        {"GET /europe" + byRiotID + "100%/EUW HTTP/1.1\r\n" + lastOne + "\r\n", "400", "malformed_request"},
		"a raw space":     {"GET /europe" + byRiotID + "sir killerlord/EUW HTTP/1.1\r\n" + lastOne + "\r\n", "400", "malformed_request"},
		"no Host":         {"GET " + status + " HTTP/1.1\r\nConnection: close\r\n\r\n", "400", "malformed_request"},
		"two Hosts":       {"GET " + status + " HTTP/1.1\r\n" + loopback + lastOne + "\r\n", "400", "malformed_request"},
		"a bad header":    {"GET " + status + " HTTP/1.1\r\n" + lastOne + "a b: c\r\n\r\n", "400", "malformed_request"},
		"large headers":   {"GET " + status + " HTTP/1.1\r\n" + lastOne + "X: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431", "headers_too_large"},
		"another version": {"GET " + status + " HTTP/3.0\r\n" + lastOne + "\r\n", "505", "unsupported_version"},
		"an encoding":     {"POST " + stubCodes + " HTTP/1.1\r\n" + lastOne + "Transfer-Encoding: gzip\r\n\r\n", "501", "unsupported_encoding"},
		"an expectation":  {"GET " + status + " HTTP/1.1\r\n" + lastOne + "Expect: tea\r\n\r\n", "417", "expectation_failed"},
		"OPTIONS *":       {"OPTIONS * HTTP/1.1\r\n" + lastOne + "\r\n", "200", ""},
	} {
		raw := g.exchange(t, c.raw)
		if !strings.HasPrefix(raw, "HTTP/1.1 "+c.status+" ") || !strings.Contains(raw, "X-Riftrelay-Source: relay\r\n") ||
			c.reason != "" && (!strings.Contains(raw, "X-Riftrelay-Reason: "+c.reason+"\r\n") || !strings.HasSuffix(raw, `"status_code":`+c.status+"}}")) {
			t.Errorf("%s: %q", name, raw)
		}
	}
	if n := g.edge.Report().Arrived; n != 0 {
		t.Errorf("%d calls arrived", n)
	}
}
