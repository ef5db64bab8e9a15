package daemon

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"riftrelay/riotsim"
)

// What the store's client has to say goes to the log, also while connections
// break: there is nothing on stderr that isn't the log's.
func TestStoreClientLogs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			time.AfterFunc(5*time.Millisecond, func() { c.Close() })
		}
	}()
	_, upstream := startEdge(t, riotsim.Config{Keys: map[string]string{canary: riotsim.Production}})
	p := startProcess(t, t.TempDir(), "RIOT_TOKEN=main="+canary, "UPSTREAM_URL="+upstream, "ADMIN_ADDR=off", "STORE_URL=rediss://u:CANARY-password@"+l.Addr().String())
	const says = `"msg":"the store's client"`
	for end := time.Now().Add(20 * time.Second); !strings.Contains(p.log.String(), says); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing of the store's client in the log:\n%s", p.log.String())
		}
	}
	p.stop(t)
	for line := range strings.Lines(p.log.String()) {
		var entry struct{ Level, Msg string }
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg == "" {
			t.Errorf("not of the log: %s", line)
		}
		if strings.Contains(line, says) && entry.Level != "DEBUG" {
			t.Errorf("%s", line)
		}
	}
}
