package daemon

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// oldAnswer is a row of the table of answers in docs/coming-from.md.
type oldAnswer struct {
	request string   // first line without its version
	header  []string // "Name: value"
	set     []string // "NAME=value"
	where   string   // what else is the case
	now     int
	from    string // X-RiftRelay-Source: "riot", "relay", or "" for any
	reason  string // X-RiftRelay-Reason
}

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	nowColumn = regexp.MustCompile("^([0-9]{3})(?: by (Riot|the relay)| `([a-z_]+)`)?$")
)

func oldAnswers(t *testing.T) []oldAnswer {
	t.Helper()
	page, err := os.ReadFile("../../docs/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n### Answers\n")
	_, table, _ = strings.Cut(table, "\n|---|---|---|---|---|\n")
	var rows []oldAnswer
	for line := range strings.Lines(table) {
		if line == "\n" {
			break
		}
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if len(cells) != 5 {
			t.Fatalf("%d cells in %s", len(cells), line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		now := nowColumn.FindStringSubmatch(cells[3])
		if now == nil || !regexp.MustCompile("^[0-9]{3}$").MatchString(cells[2]) || cells[2] != now[1] && cells[4] == "" {
			t.Fatalf("want two statuses, and a reason where they differ: %s", line)
		}
		var r oldAnswer
		for i, m := range codeSpan.FindAllStringSubmatch(cells[0], -1) {
			if i == 0 {
				r.request = m[1]
			} else {
				r.header = append(r.header, m[1])
			}
		}
		r.where = cells[1]
		for _, m := range codeSpan.FindAllStringSubmatch(cells[1], -1) {
			if strings.Contains(m[1], "=") {
				r.set = append(r.set, m[1])
				r.where = strings.Trim(strings.Replace(r.where, m[0], "", 1), ", ")
			}
		}
		fmt.Sscan(now[1], &r.now)
		r.from, r.reason = map[string]string{"Riot": "riot", "the relay": "relay"}[now[2]], now[3]
		rows = append(rows, r)
	}
	return rows
}

// whereRiot is what an edge does in a row of the table.
var whereRiot = map[string]riotsim.Config{
	"":                            {},
	"with a body":                 {},
	"with a body of 2 MB":         {},
	"with headers of 40 kB":       {},
	"the queue is full":           {Keys: map[string]string{canary: "1:60"}},
	"the relay stops":             {Keys: map[string]string{canary: "1:60"}},
	"the limit is full":           {Keys: map[string]string{canary: "1:60"}},
	"Riot knows no key":           {Keys: map[string]string{"RGAPI-another": "500:10"}},
	"Riot is silent":              {Faults: []riotsim.Fault{{Hang: 4 * time.Second}}},
	"Riot breaks the connection":  {Faults: []riotsim.Fault{{Reset: true}}},
	"five service 429s in a row":  {Faults: []riotsim.Fault{{Kind: riotsim.Service, Wait: time.Second, Times: 5}}},
	"a 429 without `Retry-After`": {Faults: []riotsim.Fault{{Kind: riotsim.Service, Wait: -1, Times: 1}}},
}

// What docs/coming-from.md says of answers is what a running relay does.
func TestAnswersOfComingFrom(t *testing.T) {
	t.Parallel()
	rows := oldAnswers(t)
	if len(rows) < 30 {
		t.Fatalf("%d rows: not read right", len(rows))
	}
	relays := map[string]*process{}
	for _, r := range rows {
		sim, known := whereRiot[r.where]
		if !known {
			t.Errorf("%s: the test doesn't know %q", r.request, r.where)
			continue
		}
		name := strings.Join(r.set, ",")
		p := relays[name]
		if p == nil || r.where != "" {
			if sim.Keys == nil {
				sim.Keys = map[string]string{canary: riotsim.Production}
			}
			_, url := startEdge(t, sim)
			p = startProcess(t, t.TempDir(), append([]string{"RIOT_TOKEN=" + canary, "UPSTREAM_URL=" + url, "PACING=burst", "ADMIN_ADDR=127.0.0.1:0"}, r.set...)...)
			t.Cleanup(func() {
				p.cmd.Process.Kill()
				<-p.read
				p.cmd.Wait()
			})
			if r.where == "" {
				relays[name] = p
			}
		}
		t.Run(strings.Join(slices.Concat([]string{r.request}, r.header, r.set, []string{r.where}), " "), func(t *testing.T) { r.check(t, p) })
	}
}

func (r oldAnswer) check(t *testing.T, p *process) {
	body := ""
	waiting := make(chan oldResponse, 1)
	switch r.where {
	case "with a body":
		body = "x"
	case "with a body of 2 MB":
		body = strings.Repeat("x", 2<<20)
	case "with headers of 40 kB":
		r.header = append(r.header, "X-Large: "+strings.Repeat("x", 40<<10))
	case "the limit is full":
		oldCall(p.front, r.request, r.header, "")
	case "the queue is full", "the relay stops":
		oldCall(p.front, r.request, r.header, "")
		go func() { waiting <- oldCall(p.front, r.request, r.header, "") }()
		depth := regexp.MustCompile(`(?m)^riftrelay_queue_depth{.*} 1$`)
		eventually(t, "a call that waits", func() bool { return depth.MatchString(oldCall(p.admin, "GET /metrics", nil, "").body) })
	case "Riot knows no key":
		for _, host := range []string{"kr", "na1", "euw1"} {
			for _, path := range []string{"/lol/status/v4/platform-data", "/lol/platform/v3/champion-rotations", "/tft/status/v1/platform-data"} {
				oldCall(p.front, "GET /"+host+path, nil, "")
			}
		}
		for range 5 { // a suspect key has a try now and then
			if oldCall(p.front, r.request, r.header, "").status == http.StatusServiceUnavailable {
				break
			}
		}
	}
	var got oldResponse
	if r.where == "the relay stops" {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		got = <-waiting
	} else {
		got = oldCall(p.front, r.request, r.header, body)
	}
	if got.err != nil || got.status != r.now || got.header.Get("X-RiftRelay-Reason") != r.reason || r.from != "" && got.header.Get("X-RiftRelay-Source") != r.from {
		t.Errorf("%d %v %.300s %v; the page says %d %s%s", got.status, got.header, got.body, got.err, r.now, r.from, r.reason)
	}
	var refusal struct {
		Status struct {
			Message string
			Code    int `json:"status_code"`
		}
	}
	if r.reason != "" && (json.Unmarshal([]byte(got.body), &refusal) != nil || refusal.Status.Code != r.now || refusal.Status.Message == "") {
		t.Errorf("the refusal is %.300q", got.body)
	}
}

type oldResponse struct {
	status int
	header http.Header
	body   string
	err    error
}

// oldCall sends a request as it stands on the page. Go's client would clean its path.
func oldCall(base, request string, header []string, body string) (got oldResponse) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		return oldResponse{err: err}
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	head := request + " HTTP/1.1\r\n"
	if !slices.ContainsFunc(header, func(h string) bool { return strings.HasPrefix(h, "Host:") }) {
		head += "Host: localhost\r\n"
	}
	for _, h := range header {
		head += h + "\r\n"
	}
	if body != "" {
		head += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	go io.WriteString(conn, head+"\r\n"+body)
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return oldResponse{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return oldResponse{resp.StatusCode, resp.Header, string(text), err}
}
