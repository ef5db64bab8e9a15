package daemon

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// TestCrowd has 8,000 clients wait on sockets, half of which leave at once:
// within a second they are gone from the queue, and no slot is lost. The race
// detector allows fewer.
func TestCrowd(t *testing.T) {
	crowd := 8000
	if raceEnabled {
		crowd = 1500
	}
	if most := (openFiles() - 200) / 2; most < crowd { // both ends are ours
		t.Logf("%d clients only: descriptors are few", most)
		crowd = most
	}
	g := startRig(t, riotsim.Config{
		Keys: map[string]string{canary: riotsim.Large}, MethodLimits: []riotsim.Rule{{Limit: "1:600"}}, Body: riotsim.Tiny,
	}, map[string]string{"QUEUE_CAPACITY": "10000", "ADMISSION_TIMEOUT": "0", "SHUTDOWN_TIMEOUT": "0", "LOG_LEVEL": "error"})
	if a := g.get(g.front + status); a.err != nil || a.status != 200 {
		t.Fatal(a)
	}
	address := strings.TrimPrefix(g.front, "http://")
	conns := make([]net.Conn, crowd)
	defer func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	}()
	for i := range conns {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		conns[i] = c
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", status); err != nil {
			t.Fatal(err)
		}
	}
	queued := func() int { return g.limiter.Snapshot().Queued }
	eventually(t, "all wait", func() bool { return queued() == crowd })

	left := time.Now()
	for i := range crowd / 2 {
		conns[i].Close()
	}
	eventually(t, "half of them have left", func() bool { return queued() == crowd-crowd/2 })
	if took := time.Since(left); took > time.Second && !raceEnabled {
		t.Errorf("gone after %v", took)
	}
	if err := g.edge.SetMethodLimit("", "euw1", "lol-status-v4", riotsim.NoLimit); err != nil {
		t.Fatal(err)
	}
	if s := g.limiter.Snapshot(); s.InFlight != 0 || s.Queued != crowd-crowd/2 {
		t.Errorf("%d in flight, %d queued", s.InFlight, s.Queued)
	}
}
