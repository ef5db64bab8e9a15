package daemon

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"riftrelay/internal/trust"
)

// corpusRun is one profile: a relay as a process, before a strict upstream.
type corpusRun struct {
	profile  string
	relay    *process
	upstream *strictUpstream
	within   *tls.Config // nil = in clear
}

// startCorpus starts the program as a profile has it.
func startCorpus(t *testing.T, profile string) *corpusRun {
	t.Helper()
	dir := t.TempDir()
	run := &corpusRun{profile: profile, upstream: startStrict(t, false)}
	vars := []string{
		"RIOT_TOKEN=main=" + canary, "UPSTREAM_URL=http://" + run.upstream.addr, "ADMIN_ADDR=off", "PACING=burst",
	}
	roots := x509.NewCertPool()
	switch profile {
	case "tokens":
		vars = append(vars, "CLIENT_TOKENS=web="+corpusToken+",other="+corpusOther)
	case "forward":
		vars = append(vars, "ALLOWED_HOSTS=*")
	case "connect":
		vars = append(vars, "TRUST_DIR="+dir, "TUNNEL_HOSTS=static.example")
		run.within = &tls.Config{RootCAs: roots, ServerName: americas}
	case "tls":
		file := filepath.Join(dir, "relay.pem")
		roots.AddCert(certFile(t, file, 1))
		vars = append(vars, "TLS_CERT_FILE="+file, "TLS_KEY_FILE="+file)
		run.within = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
	}
	run.relay = startProcess(t, dir, vars...)
	if profile == "connect" {
		text, err := os.ReadFile(filepath.Join(dir, trust.CertificateFile))
		if err != nil || !roots.AppendCertsFromPEM(text) {
			t.Fatal("no authority", err)
		}
	}
	return run
}

// dial connects as the profile has it. protocol is that within TLS.
func (run *corpusRun) dial(inClear bool, protocol string) (net.Conn, error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(run.relay.front, "http://"))
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil { // nothing waits for it
		return nil, err
	}
	if run.within == nil || inClear {
		return c, nil
	}
	if run.profile == "connect" {
		const connected = "HTTP/1.1 200 Connection established\r\n\r\n"
		answer := make([]byte, len(connected))
		if _, err := io.WriteString(c, "CONNECT "+americas+":443 HTTP/1.1\r\nHost: "+americas+":443\r\n\r\n"); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(c, answer); err != nil || string(answer) != connected {
			return nil, fmt.Errorf("CONNECT: %q, %w", answer, err)
		}
	}
	within := run.within.Clone()
	within.NextProtos = []string{protocol}
	s := tls.Client(c, within)
	err = s.Handshake()
	return s, err
}

// exchange sends a case's bytes, and the marker behind them, and reads to the end.
func (c *corpusCase) exchange(conn net.Conn, w way, then string) ([]byte, error) {
	defer conn.Close()
	raw := w.fill(c.bytes, c.name)
	if then != "eof" {
		raw += w.marker(c.name)
	}
	sent := make(chan error, 1)
	go func() { // a refusal may come before all is sent
		_, err := io.WriteString(conn, raw)
		if half, ok := conn.(interface{ CloseWrite() error }); ok && err == nil && then == "eof" {
			err = half.CloseWrite()
		}
		sent <- err
	}()
	b, err := io.ReadAll(conn)
	conn.Close()
	if <-sent; errors.Is(err, os.ErrDeadlineExceeded) {
		return b, err
	}
	return b, nil // a reset ends a connection, too
}

// answersIn reads all answers. Those of the relay have their reason.
func answersIn(raw []byte, verb string) (answers []string, err error) {
	in := bufio.NewReader(bytes.NewReader(raw))
	for {
		if next, _ := in.Peek(1); len(next) == 0 {
			return answers, nil
		}
		resp, err := http.ReadResponse(in, &http.Request{Method: verb})
		if err != nil {
			return answers, err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return answers, err
		}
		answer := fmt.Sprint(resp.StatusCode)
		if reason := resp.Header.Get("X-Riftrelay-Reason"); reason != "" {
			answer += " " + reason
		}
		if resp.StatusCode >= 300 && resp.Header.Get("X-Riftrelay-Source") != "relay" {
			answer += " without a source"
		}
		answers, verb = append(answers, answer), http.MethodGet
	}
}

// run runs a case and returns what differs, "" if nothing does.
func (run *corpusRun) run(c *corpusCase) string {
	want := c.wants(run.profile)
	protocol := "http/1.1"
	if c.frames != nil {
		protocol = "h2"
	}
	conn, err := run.dial(c.clear, protocol)
	if err != nil {
		return err.Error()
	}
	var answers []string
	if c.frames != nil {
		answers, err = c.exchangeFrames(conn, corpusWays[run.profile])
	} else {
		var raw []byte
		raw, err = c.exchange(conn, corpusWays[run.profile], want.then)
		verb, _, _ := strings.Cut(strings.TrimLeft(c.bytes, "\r\n"), " ")
		if err == nil {
			answers, err = answersIn(raw, verb)
		}
		if bytes.Contains(bytes.ToUpper(raw), []byte("CANARY")) {
			return fmt.Sprintf("the answer has a secret: %q", raw)
		}
	}
	if err != nil {
		return fmt.Sprintf("%v after answers %q", err, answers)
	}
	expected := want.answers
	if want.then == "lives" {
		expected = append(slices.Clone(expected), "200")
	}
	came, marker := run.upstream.of(c.name)
	switch {
	case !slices.Equal(answers, expected):
		return fmt.Sprintf("answers %q, want %q; sent %.200q", answers, expected, came)
	case !slices.Equal(came, c.upstream(want.sent)):
		return fmt.Sprintf("sent %.300q, want %.300q", came, c.upstream(want.sent))
	case marker != (want.then == "lives"):
		return fmt.Sprintf("the request behind it reached the upstream: %v", marker)
	}
	return ""
}

// Every case of the corpus ends as its file says, in each profile that it is for.
func TestCorpus(t *testing.T) {
	all := readCorpus(t, "*.txt")
	if len(all) < 300 {
		t.Errorf("%d cases, want 300", len(all))
	}
	for _, profile := range corpusProfiles {
		t.Run(profile, func(t *testing.T) {
			run := startCorpus(t, profile)
			n := inParallel(all, profile, func(c *corpusCase) {
				if differs := run.run(c); differs != "" {
					t.Errorf("%s: %s: %s", c.file, c.name, differs)
				}
			})
			t.Logf("%d of %d cases", n, len(all))
			run.relay.stop(t)
			for _, fault := range run.upstream.faults {
				t.Errorf("at the upstream: %s", fault)
			}
		})
	}
}

// inParallel does f for each case of a profile, and returns how many there are.
func inParallel(all []*corpusCase, profile string, f func(*corpusCase)) (n int) {
	places := make(chan struct{}, 16)
	var busy sync.WaitGroup
	for _, c := range all {
		if !slices.Contains(c.in, profile) {
			continue
		}
		n++
		places <- struct{}{}
		busy.Go(func() {
			f(c)
			<-places
		})
	}
	busy.Wait()
	return n
}
