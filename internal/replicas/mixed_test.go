package replicas

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// mixed are clients of all kinds, through whatever lies between them and a relay.
type mixed struct {
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	calls  int
	ends   map[string]int // calls by how they ended
	served []call         // with 200
	silent []string       // calls that ended neither with a named answer nor with an error of the connection
}

// answered is how long a client waits for an answer: longer than the relay may
// take.
const answered = 20 * time.Second

// mix has n clients call a relay at an address until stopped.
func mix(t *testing.T, addr string, n int, seed uint64) *mixed {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	m := &mixed{stop: stop, ends: map[string]int{}}
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		m.work.Go(func() {
			transport := &http.Transport{DisableKeepAlives: i%4 == 1, DisableCompression: i%2 == 0}
			defer transport.CloseIdleConnections()
			for ctx.Err() == nil {
				m.one(ctx, &http.Client{Transport: transport}, "http://"+addr+target, i%8, r)
			}
		})
	}
	t.Cleanup(m.end)
	return m
}

// one makes a call: in eight, kind 2 has high priority, and kind 3 often gives up.
func (m *mixed) one(all context.Context, client *http.Client, url string, kind int, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(all, answered)
	defer cancel()
	gaveUp := false
	if kind == 3 && r.IntN(2) == 0 {
		gaveUp = true
		time.AfterFunc(time.Duration(r.Int64N(int64(time.Second))), cancel)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		panic(err)
	}
	if kind == 2 {
		req.Header.Set("X-Priority", "high")
	}
	began := time.Now()
	end, named, err := fetch(client, req)
	took := time.Since(began)
	if all.Err() != nil {
		return // cut off by the test's end
	}
	m.mu.Lock()
	m.calls++
	switch {
	case err != nil && gaveUp && ctx.Err() != nil:
		end = "given up"
	case errors.Is(err, context.DeadlineExceeded):
		end = "no answer"
		m.silent = append(m.silent, fmt.Sprintf("no answer in %v: %v", answered, err))
	case err != nil:
		end = "broken connection"
	case !named:
		m.silent = append(m.silent, "an answer of nobody: "+end)
	case end == "riot 200":
		m.served = append(m.served, call{began, took})
	}
	m.ends[end]++
	m.mu.Unlock()
	if end != "riot 200" {
		sleep(all, 50*time.Millisecond)
	}
}

// fetch tells who answered what.
func fetch(client *http.Client, req *http.Request) (end string, named bool, err error) {
	resp, err := client.Do(req)
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "", false, err
	}
	source := resp.Header.Get("X-Riftrelay-Source")
	end = fmt.Sprint(source, " ", resp.StatusCode)
	if source == "relay" {
		end += " " + resp.Header.Get("X-Riftrelay-Reason")
	}
	return end, source == "riot" || source == "relay", nil
}

// end stops them.
func (m *mixed) end() {
	m.stop()
	m.work.Wait()
}

// tell says how calls ended, and fails the test for those that got no answer.
func (m *mixed) tell(t *testing.T) string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.silent) > 0 {
		t.Errorf("%d of %d calls, the first: %s", len(m.silent), m.calls, m.silent[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls:", m.calls)
	for _, end := range slices.Sorted(maps.Keys(m.ends)) {
		fmt.Fprintf(&b, " %d %s,", m.ends[end], end)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// level is what a relay holds.
type level struct{ goroutines, files, rss, cpu float64 }

func (l level) String() string {
	return fmt.Sprintf("%.0f goroutines, %.0f descriptors, RSS %.1f MB", l.goroutines, l.files, l.rss/1e6)
}

// level asks a relay for it.
func (p *relay) level(t *testing.T) (l level) {
	t.Helper()
	c := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(p.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	found := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		to := map[string]*float64{
			"go_goroutines": &l.goroutines, "process_open_fds": &l.files, "process_resident_memory_bytes": &l.rss, "process_cpu_seconds_total": &l.cpu,
		}[name]
		if to == nil {
			continue
		}
		if *to, err = strconv.ParseFloat(value, 64); err != nil {
			t.Fatal(err)
		}
		found++
	}
	if found != 4 && runtime.GOOS == "linux" {
		t.Fatalf("%d of 4 figures in the metrics", found)
	}
	return l
}
