package daemon

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// strictUpstream stands in Riot's place for the corpus. It takes nothing that is
// malformed, keeps each request by the case that it names, and answers 200.
type strictUpstream struct {
	addr   string
	anyone bool // nginx's: headers are as nginx makes them

	mu     sync.Mutex
	came   map[string][]string // verb, target and body, by case
	faults []string
}

func startStrict(t *testing.T, anyone bool) *strictUpstream {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &strictUpstream{addr: l.Addr().String(), anyone: anyone, came: map[string][]string{}}
	var mu sync.Mutex
	var open []net.Conn
	var busy sync.WaitGroup
	busy.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			busy.Go(func() { u.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		busy.Wait()
	})
	return u
}

func (u *strictUpstream) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		r, err := readStrictly(in)
		if err == nil && !u.anyone {
			err = r.check()
		}
		u.mu.Lock()
		if name := namedCase.FindString(r.raw); name != "" {
			u.came[name] = append(u.came[name], strings.TrimSuffix(r.line+" "+r.body, " "))
		} else if err == nil {
			err = fmt.Errorf("it names no case")
		}
		if err != nil {
			u.faults = append(u.faults, fmt.Sprintf("%v: %.600q", err, r.raw))
		}
		u.mu.Unlock()
		if err != nil {
			return
		}
		body := "{}"
		if strings.HasPrefix(r.line, "HEAD ") {
			body = ""
		}
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-App-Rate-Limit: 50000:1\r\nX-App-Rate-Limit-Count: 1:1\r\n"+
			"X-Method-Rate-Limit: 50000:1\r\nX-Method-Rate-Limit-Count: 1:1\r\n\r\n"+body); err != nil {
			return
		}
	}
}

var (
	namedCase  = regexp.MustCompile(`case-[a-z0-9-]+`)
	strictLine = regexp.MustCompile(`^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) (/[^ #\x00-\x1f\x7f]*) HTTP/1\.1$`)
	strictName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// strictRequest is one request at the upstream.
type strictRequest struct {
	line, body, raw string // line has no version
	header          map[string][]string
}

// readStrictly reads one request, and what there was of it with an error.
func readStrictly(in *bufio.Reader) (r strictRequest, err error) {
	r.header = map[string][]string{}
	for n := 0; ; n++ {
		line, err := in.ReadString('\n')
		r.raw += line
		line, found := strings.CutSuffix(line, "\r\n")
		switch {
		case err != nil:
			return r, err
		case !found || strings.ContainsAny(line, "\r\x00"):
			return r, fmt.Errorf("line %q", line)
		case n == 0:
			m := strictLine.FindStringSubmatch(line)
			if m == nil {
				return r, fmt.Errorf("request line %q", line)
			}
			r.line = m[1] + " " + m[2]
			continue
		case line != "":
			name, value, found := strings.Cut(line, ": ")
			if !found || !strictName.MatchString(name) || strings.TrimSpace(value) != value {
				return r, fmt.Errorf("header %q", line)
			}
			r.header[name] = append(r.header[name], value)
			continue
		}
		break
	}
	length := r.header["Content-Length"]
	if len(length) == 0 {
		return r, nil
	}
	n, err := strconv.Atoi(length[0])
	if err != nil || len(length) > 1 {
		return r, fmt.Errorf("lengths %q", length)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(in, b)
	r.body = string(b)
	r.raw += r.body
	return r, err
}

// allowedUp are the headers that Riot gets.
var allowedUp = []string{
	"Host", "User-Agent", "X-Riot-Token", "Content-Length", "Content-Type", "Content-Encoding", "Content-Language", "Authorization",
	"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "If-Modified-Since", "If-None-Match",
}

// check finds what no request to Riot may have.
func (r *strictRequest) check() error {
	if key := r.header["X-Riot-Token"]; !slices.Equal(key, []string{canary}) && (key != nil || !strings.Contains(r.line, "/lol/rso-")) { // a player's token is enough there
		return fmt.Errorf("the key is %q", key)
	}
	if host := r.header["Host"]; len(host) != 1 || !strings.HasSuffix(host[0], domainOfRiot) {
		return fmt.Errorf("the host is %q", host)
	}
	for name, values := range r.header {
		if !slices.Contains(allowedUp, name) || len(values) > 1 && !strings.HasPrefix(name, "Accept") {
			return fmt.Errorf("header %s: %q", name, values)
		}
	}
	if len(r.header["Content-Length"]) == 0 && strings.HasPrefix(r.line, "POST ") {
		return fmt.Errorf("a POST without a length")
	}
	rest := strings.Replace(r.raw, canary, "", 1)
	for range 4 {
		if strings.Contains(strings.ToUpper(rest), "CANARY") {
			return fmt.Errorf("it has a secret")
		}
		if plain, wrong := url.PathUnescape(rest); wrong == nil {
			rest = plain
		}
	}
	return nil
}

const domainOfRiot = ".api.riotgames.com"

// of returns what came for a case, and whether its marker did.
func (u *strictUpstream) of(name string) (came []string, marker bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, line := range u.came["case-"+name] {
		if strings.HasSuffix(line, "/lol/tournament/v5/codes/marker") {
			marker = true
			continue
		}
		came = append(came, line)
	}
	return came, marker
}
