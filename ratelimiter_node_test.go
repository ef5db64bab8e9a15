package riftrelay_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// What docs/coming-from.md offers to users of RiotRateLimiter-node is there: settings, and names of the library.
func TestTableOfRiotRateLimiterNode(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, section, _ := strings.Cut(read("docs/coming-from.md"), "\n## RiotRateLimiter-node\n")
	section, _, _ = strings.Cut(section, "\n## ")
	settings, api := read("docs/settings.md"), read("api.txt")
	span := regexp.MustCompile("`([^`]+)`")
	rows, names := 0, 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(line, "|--") || strings.HasPrefix(line, "| there") {
			continue
		}
		rows++
		for _, m := range span.FindAllStringSubmatch(cells[2], -1) {
			if name, _, _ := strings.Cut(m[1], "="); regexp.MustCompile(`^[A-Z]+_[A-Z_<>id]+$|^PACING$`).MatchString(name) {
				names++
				if !strings.Contains(settings, "`"+name+"`") {
					t.Errorf("%s is no setting", name)
				}
			}
		}
		for _, m := range span.FindAllStringSubmatch(cells[3], -1) {
			names++
			_, name, ok := strings.Cut(m[1], ".")
			if !ok {
				name = m[1]
			}
			if m[1] != "http.Client" && !regexp.MustCompile(`\b`+name+`\b`).MatchString(api) {
				t.Errorf("the library has no %s", m[1])
			}
		}
	}
	if rows < 15 || names < 18 {
		t.Errorf("%d rows, %d names: not read right", rows, names)
	}
}

// Calls outlast 429s of a service, however many come in a row, within their deadline, with Retry-After and without.
func TestServiceLimitsInARowAreOutlasted(t *testing.T) {
	for _, wait := range []time.Duration{time.Second, -1} {
		for _, n := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprint(n, wait), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := simulate(t, riotsim.Config{Faults: []riotsim.Fault{{Kind: riotsim.Service, Wait: wait, Times: n}}}, riftrelay.Config{})
					began := time.Now()
					resp, err := s.client.Get(byPUUID)
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					took := time.Since(began)
					if got := s.edge.Report().Arrived; resp.StatusCode != http.StatusOK || got != n+1 {
						t.Errorf("%d after %d tries", resp.StatusCode, got)
					}
					least, most := time.Duration(n)*time.Second, time.Duration(2*n+1)*time.Second
					if wait < 0 { // 1 s, 2 s, 4 s …
						least, most = time.Duration(1<<n-1)*time.Second, time.Duration(3<<n)*time.Second/2
					}
					if took < least || took > most {
						t.Errorf("%d 429s took %v, want %v to %v", n, took, least, most)
					}
				})
			})
		}
	}
}
