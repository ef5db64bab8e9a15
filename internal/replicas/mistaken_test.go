package replicas

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// readiness is what a relay's admin listener says of itself.
func (p *relay) readiness() string {
	c := http.Client{Timeout: 5 * time.Second}
	resp, err := c.Get(p.admin + "/readyz")
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// A replica in another database of the server, and one that never reaches it, say
// so: in the log, and on the admin listener.
func TestMistakenReplicasSaySo(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	r := newRig(t, limitText)
	right, other, wrong := r.start(redis.URL()), r.start(redis.URL()+"/5"), r.start(redis.URL()+"/99")
	for _, c := range []struct {
		p    *relay
		want string
	}{{right, "database 5, not 0"}, {other, "database 0, not 5"}, {wrong, "not reached once since the start"}} {
		eventually(t, "warning that "+c.want, func() bool {
			return strings.Contains(c.p.readiness(), c.want) && strings.Contains(c.p.said(), c.want)
		})
	}
	if s := wrong.store(); s == nil || !strings.Contains(s.Away, "database: ") {
		t.Errorf("the store is %+v", s)
	}
}
