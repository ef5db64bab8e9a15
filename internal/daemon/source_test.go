package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
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

// Every answer says who speaks, in clear and within TLS, also one to a request
// that no handler sees. What two programs may read differently is refused, and
// nothing behind it is read.
func TestEveryAnswerNamesItsSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "relay.pem")
	roots := x509.NewCertPool()
	roots.AddCert(certFile(t, file, 1))
	inClear := startRig(t, riotsim.Config{}, nil)
	byTLS := startRigIn(t, riotsim.Config{}, map[string]string{"TLS_CERT_FILE": file, "TLS_KEY_FILE": file}, nil, realFiles)
	const (
		get      = "GET " + status + " HTTP/1.1\r\n" + loopback
		post     = "POST " + stubCodes + " HTTP/1.1\r\n" + loopback
		smuggled = "58\r\n" + get + "\r\n\r\n0\r\n\r\n"
	)
	for name, c := range map[string]struct{ raw, status, reason string }{
		"a lone %":             {"GET /europe" + byRiotID + "100%/EUW HTTP/1.1\r\n" + lastOne + "\r\n", "400", "malformed_request"},
		"a raw space":          {"GET /europe" + byRiotID + "sir killerlord/EUW HTTP/1.1\r\n" + lastOne + "\r\n", "400", "malformed_request"},
		"no Host":              {"GET " + status + " HTTP/1.1\r\nConnection: close\r\n\r\n", "400", "malformed_request"},
		"two Hosts":            {get + lastOne + "\r\n", "400", "malformed_request"},
		"a bad header":         {get + "a b: c\r\n\r\n", "400", "malformed_request"},
		"large headers":        {get + "X: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431", "headers_too_large"},
		"another version":      {"GET " + status + " HTTP/3.0\r\n" + lastOne + "\r\n", "505", "unsupported_version"},
		"an encoding":          {post + "Transfer-Encoding: gzip\r\n\r\n", "501", "unsupported_encoding"},
		"an expectation":       {get + "Expect: tea\r\n\r\n", "417", "expectation_failed"},
		"OPTIONS *":            {"OPTIONS * HTTP/1.1\r\n" + lastOne + "\r\n", "200", ""},
		"HTTP/1.0, chunks":     {"POST " + stubCodes + " HTTP/1.0\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n" + smuggled, "400", "malformed_request"},
		"length and chunks":    {post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, "400", "malformed_request"},
		"two equal lengths":    {post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" + get + "\r\n", "400", "malformed_request"},
		"chunks twice":         {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, "400", "malformed_request"},
		"several lines":        {get + "Accept: a\r\n b\r\n\r\n" + get + "\r\n", "400", "malformed_request"},
		"a bare line feed":     {get + "Accept: a\nX-Priority: high\r\n\r\n" + get + "\r\n", "400", "malformed_request"},
		"a bare return":        {get + "Accept: a\rX-Priority: high\r\n\r\n" + get + "\r\n", "400", "malformed_request"},
		"NUL":                  {get + "Accept: a\x00\r\n\r\n" + get + "\r\n", "400", "malformed_request"},
		"a space before ':'":   {post + "Content-Length : 2\r\n\r\n{}" + get + "\r\n", "400", "malformed_request"},
		"a verb in lower case": {"get " + status + " HTTP/1.1\r\n" + lastOne + "\r\n", "400", "malformed_request"},
	} {
		for way, raw := range map[string]string{
			"in clear": inClear.exchange(t, c.raw),
			"by TLS":   byTLS.exchangeOver(t, c.raw, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}),
		} {
			if !strings.HasPrefix(raw, "HTTP/1.1 "+c.status+" ") || strings.Count(raw, "\r\n\r\n") != 1 || !strings.Contains(raw, "X-Riftrelay-Source: relay\r\n") ||
				c.reason != "" && (!strings.Contains(raw, "X-Riftrelay-Reason: "+c.reason+"\r\n") || !strings.HasSuffix(raw, `"status_code":`+c.status+"}}")) {
				t.Errorf("%s, %s: %q", name, way, raw)
			}
		}
	}
	for _, g := range []*rig{inClear, byTLS} {
		if n := g.edge.Report().Arrived; n != 0 {
			t.Errorf("%d calls arrived", n)
		}
	}
}
