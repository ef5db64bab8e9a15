package daemon

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/internal/redisserver"
)

// The demo's promise, over real sockets: the limit is used, and Riot never has
// to say no. TestMain looks for goroutines that are left.
func TestDemo(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	began := time.Now()
	if err := demo(t.Context(), config.DemoOptions{For: 4 * time.Second, RateLimit: "20:1", Seed: 1}, screen{w: &b}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, want := range []string{
		`(?m)^0:01  sent [1-9][0-9.]*/s  accepted [1-9][0-9.]*/s  queued `,
		`(?m)^0:02 .* euw1 [0-9]+/20`,
		`(?m)^  429s 0 `,
		`(?m)^  accepted  ([1-9][0-9]+) by Riot's own count, ([1-9][0-9]+) by`,
		`(?m)^  rejected  [0-9]+ .*shutting_down`,
		`(?m)^  all  .* (?:[789][0-9]\.[0-9]|100\.0) %`,
		`RIOT_TOKEN=RGAPI-… go run ./cmd/riftrelay\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s", want)
		}
	}
	if m := regexp.MustCompile(`accepted  (\d+) by Riot's own count, (\d+) by`).FindStringSubmatch(out); m == nil || m[1] != m[2] {
		t.Errorf("the books differ: %q", m)
	}
	if strings.Contains(out, "\x1b") || strings.Contains(out, "RGAPI-demo") {
		t.Error("escape sequences off a terminal, or a key")
	}
	if t.Failed() {
		t.Log(out)
	}
}

// The page of the relay is there while the demo runs, where it says.
func TestDemoHasThePage(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	var b buffer
	ended := make(chan error, 1)
	go func() { ended <- demo(ctx, config.DemoOptions{RateLimit: "20:1", Seed: 1}, screen{w: &b}) }()
	var m []string
	for m == nil && ctx.Err() == nil {
		m = regexp.MustCompile(`page, while it runs: (http://127\.0\.0\.1:\d+/)\n`).FindStringSubmatch(b.String())
		time.Sleep(10 * time.Millisecond)
	}
	if m == nil {
		t.Fatalf("says no page: %s", b.String())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m[1], http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/html") {
		t.Errorf("%s %s", resp.Status, kind)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestDemoOnATerminal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // as Ctrl-C does
	defer cancel()
	var b strings.Builder
	if err := demo(ctx, config.DemoOptions{RateLimit: "500:10", Pacing: riftrelay.PacingBurst, Seed: 1}, screen{w: &b, isTTY: true}); err != nil {
		t.Fatal(err)
	}
	picture, last, ok := strings.Cut(b.String(), "\x1b[?25h")
	if !ok || !strings.HasPrefix(last, "RiftRelay demo: ") || !strings.Contains(last, "429s 0 ") {
		t.Errorf("after the picture, with the cursor back, comes the summary; it is %q", last)
	}
	if n := strings.Count(picture, "\x1b[?2026h"); n < 2 || n > 11 {
		t.Errorf("%d pictures in two seconds; want about 10", n)
	}
}

// An end before the beginning is no failure.
func TestDemoOfNoTime(t *testing.T) {
	for range 20 {
		if err := demo(t.Context(), config.DemoOptions{For: 1, RateLimit: "20:1"}, screen{w: io.Discard}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDemoNamesWhatIsWrong(t *testing.T) {
	if err := demo(t.Context(), config.DemoOptions{RateLimit: "20"}, screen{}); err == nil || !strings.Contains(err.Error(), `"20"`) {
		t.Errorf("%v", err)
	}
}

// Three relays on one key do what one does, whether they share a redis-server or,
// where there is none, a store in memory.
func TestDemoReplicas(t *testing.T) {
	_, none := redisserver.Find()
	if none != nil && os.Getenv("RIFTRELAY_REQUIRE") == "all" {
		t.Fatal(none)
	}
	for _, c := range []struct{ name, path, store string }{
		{"redis", os.Getenv("PATH"), "a redis-server"},
		{"memory", "", "a store in memory, for there is no redis-server here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.path != "" && none != nil {
				t.Skip(none)
			}
			if c.path == "" {
				t.Setenv("REDIS_BIN", "")
				t.Setenv("VALKEY_BIN", "")
			}
			t.Setenv("PATH", c.path)
			var b strings.Builder
			if err := demo(t.Context(), config.DemoOptions{For: 3500 * time.Millisecond, RateLimit: "20:1", Replicas: 3, Seed: 1}, screen{w: &b}); err != nil {
				t.Fatal(err)
			}
			out := b.String()
			for _, want := range []string{
				`; 3 relays share ` + c.store + `\n`,
				`(?m)^0:02 .*  replicas [1-9][0-9.]*/s [1-9][0-9.]*/s [1-9][0-9.]*/s `,
				`(?m)^  429s 0 `,
				`(?m)^  replicas  ([1-9][0-9]+ \+ ){2}[1-9][0-9]+ of them, by way of 3 relays that share ` + c.store + `$`,
			} {
				if !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("no %s", want)
				}
			}
			if m := regexp.MustCompile(`accepted  (\d+) by Riot's own count, (\d+) by`).FindStringSubmatch(out); m == nil || m[1] != m[2] {
				t.Errorf("the books differ: %q", m)
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// On a terminal they have a line of their own, which fits.
func TestDemoReplicasOnATerminal(t *testing.T) {
	f := busyFrame()
	f.Replicas, f.Store = []float64{13.3, 13, 13.7}, "share a redis-server, 0.4 ms away"
	for _, width := range []int{60, 80, 120} {
		lines := f.lines(width, 24, false)
		if !strings.Contains(lines[0], "3 replicas") {
			t.Errorf("at %d cells the title is %q", width, lines[0])
		}
		want := "replicas  13.3/s  13.0/s  13.7/s  share a redis-server, 0.4 ms away"
		if got := lines[3]; !strings.HasPrefix(want, strings.TrimRight(got, " ")) || width >= 80 && got != want {
			t.Errorf("at %d cells %q", width, got)
		}
	}
}
