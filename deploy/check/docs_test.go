//go:build unix

package check

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// Every command of the README and of docs/ is run: the blocks marked sh, and the
// lines of those marked console that begin with "$ ". Each page is a session of
// its own in a fresh clone with an empty home, in front of a simulated Riot. A
// comment before a block says what is special about it:
//
//	<!-- serves -->          its last command goes on; it is the page's relay from then on
//	<!-- not run: reason --> needs what a test can't have
//
// A block of assignments only is checked by "riftrelay validate".
func TestCommandsOfDocs(t *testing.T) {
	commands := 0
	for _, page := range pages(t) {
		blocks := blocksOf(read(t, page))
		if len(blocks) == 0 {
			continue
		}
		for _, b := range blocks {
			if !strings.HasPrefix(b.mark, "not run: ") {
				commands++
			}
		}
		t.Run(page, func(t *testing.T) {
			s := newSession(t)
			for _, b := range blocks {
				if strings.HasPrefix(b.mark, "serves") {
					s.relay = true
				}
			}
			if !s.relay {
				s.serve("riftrelay")
			}
			for _, b := range blocks {
				switch {
				case strings.HasPrefix(b.mark, "not run: "):
				case b.mark == "serves":
					s.serve(b.text)
				case b.mark != "":
					t.Errorf("line %d: the mark %q isn't known", b.line, b.mark)
				case onlyAssigns(b.text):
					s.run(b.line, "set -a\n"+b.text+"\nexec riftrelay validate")
				default:
					s.run(b.line, b.text)
				}
			}
		})
	}
	if commands < 20 {
		t.Errorf("%d blocks to run; not read right", commands)
	}
}

// A person who has never seen it gets through the README's first lines: the
// first answer, the page, and another key when the first has expired.
func TestNewcomer(t *testing.T) {
	s := newSession(t)
	var steps []block
	for _, b := range blocksOf(section(read(t, "README.md"), "## Two minutes")) {
		if b.mark == "" || b.mark == "serves" {
			steps = append(steps, b)
		}
	}
	if len(steps) != 3 || steps[0].mark != "serves" {
		t.Fatalf("%d steps; the README is to have three: start, first call, another key", len(steps))
	}
	page := regexp.MustCompile(`<http://(?:127\.0\.0\.1|localhost):8986(/[^>]*)?>`).FindStringSubmatch(section(read(t, "README.md"), "## Two minutes"))
	if page == nil {
		t.Fatal("the README doesn't name the page")
	}
	const old, renewed = "RGAPI-your-key", "RGAPI-your-new-key"
	s.edge.SetKey(renewed, http.StatusUnauthorized) // not made yet

	began := time.Now()
	s.serve(steps[0].text)
	s.run(steps[1].line, steps[1].text)
	t.Logf("first 200: %.1f seconds", time.Since(began).Seconds())
	if got := s.status("http://" + s.admin + "/" + strings.TrimPrefix(page[1], "/")); got != http.StatusOK {
		t.Errorf("the page: %d", got)
	}
	t.Logf("first page: %.1f seconds", time.Since(began).Seconds())

	s.edge.SetKey(old, http.StatusUnauthorized) // it is a day later
	s.edge.SetKey(renewed, http.StatusOK)
	call := "http://" + s.front + "/euw1/lol/status/v4/platform-data"
	if got := s.status(call); got != http.StatusUnauthorized {
		t.Fatalf("a call on an expired key: %d", got)
	}
	expired := time.Now()
	s.run(steps[2].line, steps[2].text)
	eventually(t, "an answer on the new key", func() bool { return s.status(call) == http.StatusOK })
	t.Logf("replaced key: %.1f seconds, %.1f in all", time.Since(expired).Seconds(), time.Since(began).Seconds())
}

// A check that sees nothing guards nothing.
func TestBlocksAreFound(t *testing.T) {
	got := blocksOf("text\n```sh\na\nb\n```\n\n<!-- not run: no reason -->\n\n```console\n$ c\nanswer\n$ d \\\n> e\n```\n```go\nf\n```\n<!-- serves -->\n```sh\ng\n```\n")
	want := []block{{3, "", "a\nb\n"}, {10, "not run: no reason", "c\nd \\\ne\n"}, {20, "serves", "g\n"}}
	if len(got) != len(want) {
		t.Fatalf("blocks %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("block %+v, want %+v", got[i], want[i])
		}
	}
	for text, only := range map[string]bool{"A=1\nB_x='2 3'\n": true, "# c\nA=1\n": true, "A=1 riftrelay\n": false, "curl x\n": false} {
		if onlyAssigns(text) != only {
			t.Errorf("%q: only assignments %v", text, !only)
		}
	}
}

// pages are the README and what lies in docs/.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) < 10 {
		t.Fatalf("%d pages in docs (%v)", len(found), err)
	}
	names := []string{"README.md"}
	for _, f := range found {
		names = append(names, "docs/"+filepath.Base(f))
	}
	return names
}

// block is a list of commands on a page.
type block struct {
	line int
	mark string
	text string
}

var markLine = regexp.MustCompile(`^<!-- ((?:serves|not run: ).*?) *-->$`)

func blocksOf(page string) []block {
	var found []block
	mark, lang, n := "", "", 0
	var text strings.Builder
	begun := 0
	for line := range strings.Lines(page) {
		n++
		line = strings.TrimRight(line, "\n")
		switch {
		case lang == "" && strings.HasPrefix(line, "```"):
			lang, begun = strings.TrimPrefix(line, "```")+" ", n+1
			text.Reset()
		case lang != "" && line == "```":
			if lang == "sh " || lang == "console " {
				found = append(found, block{begun, mark, text.String()})
			}
			lang, mark = "", ""
		case lang == "sh ":
			text.WriteString(line + "\n")
		case lang == "console ":
			for _, prompt := range []string{"$ ", "> "} {
				if command, ok := strings.CutPrefix(line, prompt); ok {
					text.WriteString(command + "\n")
				}
			}
		case markLine.MatchString(line):
			mark = markLine.FindStringSubmatch(line)[1]
		case line != "":
			mark = ""
		}
	}
	return found
}

var assignment = regexp.MustCompile(`^(#.*|[A-Za-z_][A-Za-z0-9_]*=('[^']*'|[^ ]*))?$`)

func onlyAssigns(text string) bool {
	for line := range strings.Lines(text) {
		if !assignment.MatchString(strings.TrimRight(line, "\n")) {
			return false
		}
	}
	return true
}

// section is a page from a heading to the next of its kind.
func section(page, heading string) string {
	_, rest, _ := strings.Cut(page, "\n"+heading+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// session is a person at a shell, in a clone, with an empty home.
type session struct {
	t            *testing.T
	dir          string
	env          []string
	edge         *riotsim.TestServer
	front, admin string // addresses of the relay
	relay        bool   // there is one, or the page starts one
	names        *strings.Replacer
}

func newSession(t *testing.T) *session {
	t.Helper()
	need(t, "curl", "curl")
	need(t, "jq", "jq")
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, dir: filepath.Join(t.TempDir(), "riftrelay"), front: freeAddr(t), admin: freeAddr(t)}
	s.edge = riotsim.NewServer(t, riotsim.ProductionKey)
	clone(t, s.dir)
	home := t.TempDir()
	// An answer that isn't a success is a failure.
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte("fail-with-body\nsilent\nshow-error\nmax-time = 60\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := "main=RGAPI-your-key\nspare=RGAPI-your-spare-key\n"
	if err := os.WriteFile(filepath.Join(s.dir, "harness-keys"), []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"HOME=" + home, "PATH=" + filepath.Dir(exe) + ":" + os.Getenv("PATH"), "USER=newcomer", "TERM=dumb", "LANG=C.UTF-8",
		"UPSTREAM_URL=" + s.edge.URL(), "LISTEN_ADDR=" + s.front, "ADMIN_ADDR=" + s.admin, "TRUST_DIR=trust",
	}
	// What has been downloaded and built before isn't again: that would measure this machine's network.
	kept := []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOSUMDB", "GOTOOLCHAIN"}
	for i, value := range strings.Split(strings.TrimSuffix(output(t, root, "go", append([]string{"env"}, kept...)...), "\n"), "\n") {
		s.env = append(s.env, kept[i]+"="+value)
	}
	s.names = strings.NewReplacer(
		"localhost:8985", s.front, "127.0.0.1:8985", s.front, "localhost:8986", s.admin, "127.0.0.1:8986", s.admin,
	)
	return s
}

// clone copies what git would hand out, with what isn't committed yet.
func clone(t *testing.T, dir string) {
	t.Helper()
	list := output(t, root, "git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	for name := range strings.SplitSeq(strings.TrimRight(list, "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
}

// command is a shell with these lines, that a test's end stops with all that it
// has started.
func (s *session) command(ctx context.Context, lines string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", s.names.Replace(lines))
	cmd.Dir = s.dir
	cmd.Env = s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run runs lines to their end.
func (s *session) run(line int, lines string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 4*time.Minute)
	defer cancel()
	cmd := s.command(ctx, lines)
	if !s.hasKeys() {
		cmd.Env = append(cmd.Env, "RIOT_TOKEN=RGAPI-your-key") // what a page says of settings needs no key to be true
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		s.t.Errorf("line %d: %v\n%s\n%s", line, err, lines, said)
	}
}

// hasKeys says whether the clone has a .env.
func (s *session) hasKeys() bool {
	_, err := os.Stat(filepath.Join(s.dir, ".env"))
	return err == nil
}

// serve starts lines whose last command goes on, and waits for the relay.
func (s *session) serve(lines string) {
	s.t.Helper()
	said := &lockedBuffer{}
	cmd := s.command(s.t.Context(), lines)
	cmd.Stdout, cmd.Stderr = said, said
	if lines == "riftrelay" {
		cmd.Env = append(cmd.Env, "RIOT_TOKEN_FILE=harness-keys")
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	s.t.Cleanup(func() {
		cmd.Cancel()
		<-ended
		if s.t.Failed() {
			s.t.Logf("%s\nsaid\n%s", lines, bytes.TrimSpace([]byte(said.String())))
		}
	})
	for end := time.Now().Add(5 * time.Minute); s.status("http://"+s.front+"/healthz") != http.StatusNoContent; time.Sleep(20 * time.Millisecond) {
		select {
		case <-ended:
			s.t.Fatalf("ended at once:\n%s\n%s", lines, said)
		default:
		}
		if time.Now().After(end) {
			s.t.Fatalf("no relay after five minutes:\n%s", lines)
		}
	}
}

// status asks and returns the status; 0 for no answer.
func (s *session) status(url string) int {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}
