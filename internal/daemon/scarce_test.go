//go:build unix

package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// The program as a process that lacks something: memory, descriptors, a disk
// with room.

// A disk without room, for logs and for the state: calls go on, and the state
// file is whole or not there.
func TestDiskFull(t *testing.T) {
	edge, upstream := startEdge(t, riotsim.Config{Body: riotsim.Tiny})
	state := filepath.Join(t.TempDir(), "state.json")
	const room = 4 << 10 // ulimit counts blocks of 512 bytes, or in some shells 1,024
	p := startProgram(t, upstream, "trap '' XFSZ; ulimit -f 4", "LOG_LEVEL=debug", "STATE_FILE="+state)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	calls := 0
	for range 2 {
		for _, host := range []string{"br1", "eun1", "euw1", "jp1", "kr", "la1", "la2", "na1", "oc1", "ru", "tr1"} {
			for _, path := range []string{"/lol/status/v4/platform-data", "/lol/summoner/v4/summoners/by-puuid/x", "/lol/champion-mastery/v4/scores/by-puuid/x"} {
				resp, err := client.Get(p.front + "/" + host + path)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("%s%s: %d", host, path, resp.StatusCode)
				}
				calls++
			}
		}
	}
	if err := p.stop(t); err != nil {
		t.Errorf("the end: %v", err)
	}
	if n := edge.Report().Accepted; n != calls {
		t.Errorf("%d of %d calls arrived", n, calls)
	}
	if info, err := os.Stat(p.log); err != nil || info.Size() > room || info.Size() < 1<<10 {
		t.Errorf("the log's file: %v, %v; it was to be full", info, err)
	}
	if b, err := os.ReadFile(state); !errors.Is(err, os.ErrNotExist) && !json.Valid(b) {
		t.Errorf("the state file is neither whole nor away: %d bytes, %v", len(b), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(state), "*")); len(left) > 1 {
		t.Errorf("left behind: %q", left)
	}
}

// 256 descriptors and more clients than that: all are served, some later,
// and when the crowd has gone, all is as before.
func TestFewDescriptors(t *testing.T) {
	_, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Large}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}}, Body: riotsim.Tiny, Latency: riotsim.Latency{Down: 20 * time.Millisecond}})
	p := startProgram(t, upstream, "ulimit -n 256")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	served := func() bool {
		resp, err := client.Get(p.front + status)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	if !served() {
		t.Fatal("no start")
	}
	const crowd = 400
	var mu sync.Mutex
	ends := map[string]int{}
	var all sync.WaitGroup
	hold := make(chan struct{})
	var connecting sync.Mutex // one at a time: a client sends its request as soon as it is connected
	for range crowd {
		all.Go(func() {
			end := func() string {
				connecting.Lock()
				c, err := net.Dial("tcp", strings.TrimPrefix(p.front, "http://"))
				if err != nil {
					connecting.Unlock()
					return err.Error()
				}
				defer c.Close()
				fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", status)
				connecting.Unlock()
				c.SetDeadline(time.Now().Add(30 * time.Second))
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					return err.Error()
				}
				io.Copy(io.Discard, resp.Body)
				<-hold // and keeps the connection
				return strconv.Itoa(resp.StatusCode)
			}()
			mu.Lock()
			defer mu.Unlock()
			ends[end]++
		})
	}
	time.Sleep(500 * time.Millisecond)
	close(hold)
	all.Wait()
	if ends["200"] != crowd {
		t.Errorf("ends %v, want all %d served; the log ends with %s", ends, crowd, lastOf(p.said(t)))
	}
	for range 50 {
		if !served() {
			t.Fatal("not as before")
		}
	}
	if s := p.state(t, client); s.InFlight != 0 || s.Queued != 0 {
		t.Errorf("left behind: %d in flight, %d queued", s.InFlight, s.Queued)
	}
	if err := p.stop(t); err != nil {
		t.Errorf("the end: %v\n%s", err, p.said(t))
	}
}

// A thousand calls wait under a memory limit of 64 MiB, one more is refused, and
// all that waited are served.
func TestMemoryLimit(t *testing.T) {
	_, upstream := startEdge(t, riotsim.Config{
		Keys: map[string]string{canary: riotsim.Large}, MethodLimits: []riotsim.Rule{{Limit: riotsim.NoLimit}},
		Faults: []riotsim.Fault{{Kind: riotsim.Service, Wait: 2 * time.Second, Skip: 1, Times: 1}}, // behind which they wait
	})
	p := startProgram(t, upstream, ":", "GOMEMLIMIT=64MiB", "QUEUE_TOTAL=1000", "QUEUE_CAPACITY=1000", "PACING=spread")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	get := func() int {
		resp, err := client.Get(p.front + "/europe/lol/match/v5/matches/EUW1_1")
		if err != nil {
			t.Error(err)
			return 0
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		return resp.StatusCode
	}
	if code := get(); code != http.StatusOK {
		t.Fatal(code)
	}
	var all sync.WaitGroup
	var served atomic.Int64
	for range 1000 {
		all.Go(func() {
			if code := get(); code == http.StatusOK {
				served.Add(1)
			} else {
				t.Errorf("one that waited got %d", code)
			}
		})
	}
	eventually(t, "a thousand wait", func() bool { return p.state(t, client).Queued == 1000 })
	if code := get(); code != http.StatusTooManyRequests {
		t.Errorf("one more: %d, want 429", code)
	}
	waiting := memoryOf(t, p)["VmRSS"]
	all.Wait()
	most := memoryOf(t, p)["VmHWM"]
	t.Logf("resident: %d kB with a thousand waiting, %d kB at most", waiting, most)
	if !raceEnabled && most > 64<<10 { // the race detector needs several times as much
		t.Errorf("resident: %d kB with a thousand waiting, %d kB at most; want 64 MiB", waiting, most)
	}
	if n := served.Load(); n != 1000 {
		t.Errorf("%d served", n)
	}
}

// A process that is made to die by a signal tells what its goroutines do, and no
// key among it; it leaves no core, where the key would be.
func TestCrashShowsNoKey(t *testing.T) {
	edge, upstream := startEdge(t, riotsim.Config{Faults: []riotsim.Fault{{Hang: time.Minute}}})
	p := startProgram(t, upstream, "ulimit -c unlimited 2>/dev/null", "LOG_LEVEL=debug")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := client.Get(p.front + status); err == nil {
			resp.Body.Close()
		}
	}()
	eventually(t, "a call under way", func() bool { return edge.Report().Arrived == 1 })
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err == nil {
		t.Error("SIGQUIT ends it well")
	}
	<-ended
	if said := p.said(t); !strings.Contains(said, "goroutine ") || strings.Contains(said, "CANARY") {
		t.Errorf("it said %s", said)
	}
	if cores, _ := filepath.Glob(filepath.Join(p.cmd.Dir, "core*")); len(cores) > 0 {
		t.Errorf("left behind: %q", cores)
	}
}

// lastOf is the end of a log.
func lastOf(log string) string { return log[max(0, len(log)-3000):] }
