package daemon

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The corpus in testdata/corpus: requests byte by byte, and what becomes of each.
// README.md there describes the format.

// Secrets of the corpus. None may reach the upstream, an answer or the log.
const (
	corpusToken = "w3b-CANARY-token-of-the-corpus"
	corpusOther = "0ther-CANARY-token-of-the-corpus"
	corpusKey   = "RGAPI-CANARY-a-clients-own-key"
)

// corpusProfiles are the ways in which clients reach a relay.
var corpusProfiles = []string{"open", "tokens", "forward", "connect", "tls"}

// corpusCase is one block of a file.
type corpusCase struct {
	name, file string
	bytes      string                   // escapes are resolved, macros aren't
	frames     []h2Step                 // instead of bytes: HTTP/2
	in         []string                 // profiles
	clear      bool                     // in profile connect: at the port, not within a tunnel
	want       map[string]corpusOutcome // by profile, "" for all others
	laxer      string                   // why nginx refuses it and the relay doesn't
}

// corpusOutcome is what becomes of a case.
type corpusOutcome struct {
	answers []string // status, and the reason of the relay's own
	sent    []string // verb, target and body of each request at the upstream
	then    string   // lives, closed or eof
}

// wants returns what is expected in a profile.
func (c *corpusCase) wants(profile string) corpusOutcome {
	o := c.want[""]
	special := c.want[profile]
	if special.answers != nil {
		o.answers, o.sent = special.answers, special.sent
	}
	if special.then != "" {
		o.then = special.then
	}
	return o
}

// readCorpus reads all files, or those with a name.
func readCorpus(t *testing.T, pattern string) (all []*corpusCase) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "corpus", pattern))
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		var c *corpusCase
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			line := lines.Text()
			word, rest, _ := strings.Cut(line, " ")
			switch {
			case line == "" || line[0] == '#':
				continue
			case word == "case":
				c = &corpusCase{name: rest, file: filepath.Base(file), in: corpusProfiles, want: map[string]corpusOutcome{}}
				if all = append(all, c); seen[rest] || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
					t.Fatalf("%s:%d: case %q is not new, or has other than small letters, digits and -", file, n, rest)
				}
				seen[rest] = true
				continue
			case c == nil:
				err = fmt.Errorf("no case")
			default:
				err = c.read(word, rest)
			}
			if err != nil {
				t.Fatalf("%s:%d: %v", file, n, err)
			}
		}
		f.Close()
	}
	return all
}

// read takes one line of a block.
func (c *corpusCase) read(word, rest string) (err error) {
	profile := ""
	if strings.HasPrefix(word, "@") {
		if profile = word[1:]; !slices.Contains(corpusProfiles, profile) {
			return fmt.Errorf("profile %q is unknown", profile)
		}
		word, rest, _ = strings.Cut(rest, " ")
	}
	o := c.want[profile]
	switch word {
	case ">":
		rest, err = unescape(rest)
		c.bytes += rest
	case "in":
		c.in = strings.Fields(rest)
	case "clear":
		c.clear = true
	case "answer":
		o.answers = append(o.answers, rest)
	case "sent":
		if rest, err = unescape(rest); err == nil {
			o.sent = append(o.sent, rest)
		}
	case "then":
		o.then = rest
	case "laxer":
		c.laxer = rest
	default:
		var s h2Step
		s, err = readStep(word, rest)
		c.frames = append(c.frames, s)
	}
	c.want[profile] = o
	return err
}

// unescape resolves Go's escapes, and \*3 at the end of a line: what is before it
// in the line, three times.
func unescape(s string) (string, error) {
	if i := strings.LastIndex(s, `\*`); i >= 0 {
		n, err := strconv.Atoi(s[i+2:])
		if err != nil {
			return "", err
		}
		s = strings.Repeat(s[:i], n)
	}
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	if err != nil {
		return "", fmt.Errorf("%q: %w", s, err)
	}
	return s, nil
}

// ways are what a profile puts for the macros.
type way struct{ base, host, auth string }

var corpusWays = map[string]way{
	"open":    {"/americas", "127.0.0.1", ""},
	"tokens":  {"/americas", "127.0.0.1", "X-Relay-Token: " + corpusToken + "\r\n"},
	"forward": {"http://" + americas, americas, ""},
	"connect": {"", americas, ""},
	"tls":     {"/americas", "127.0.0.1", ""},
}

const americas = "americas.api.riotgames.com"

const (
	corpusGet  = "/lol/tournament/v5/codes/a"
	corpusPost = "/lol/tournament-stub/v5/codes"
)

// fill replaces the macros of a case. Those with a token or key come last, so that
// none is within another.
func (w way) fill(s, name string) string {
	return strings.NewReplacer(
		"$head", "Host: "+w.host+"\r\nUser-Agent: case-"+name+"\r\n"+w.auth,
		"$get", w.base+corpusGet, "$post", w.base+corpusPost, "$base", w.base, "$host", w.host, "$auth", w.auth, "$id", "case-"+name,
		"$token", corpusToken, "$other", corpusOther, "$key", corpusKey,
	).Replace(s)
}

// marker is the polite request behind each case: it tells whether the connection
// lives on, and that nothing else comes.
func (w way) marker(name string) string {
	return w.fill("GET $base/lol/tournament/v5/codes/marker HTTP/1.1\r\n$headConnection: close\r\n\r\n", name)
}

// upstream fills what a request line at the upstream has.
func (c *corpusCase) upstream(sent []string) (filled []string) {
	for _, s := range sent {
		filled = append(filled, way{}.fill(s, c.name))
	}
	return filled
}
