//go:build unix

package daemon

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// startNginx starts one that passes all to upstream, and returns its socket. Where
// there is none the test is skipped; RIFTRELAY_REQUIRE=all makes that a failure.
func startNginx(t *testing.T, upstream string) string {
	t.Helper()
	bin, err := exec.LookPath("nginx")
	if err != nil {
		bin, err = exec.LookPath("/usr/sbin/nginx") // in no user's PATH on Debian
	}
	if err != nil && os.Getenv("RIFTRELAY_REQUIRE") == "all" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	socket, conf := filepath.Join(dir, "socket"), filepath.Join(dir, "conf")
	// One process: the workers of a master that is killed would stay.
	text := fmt.Sprintf(`daemon off; master_process off; %s pid %[2]s/pid; error_log %[2]s/log;
events { worker_connections 512; }
http {
	access_log off;
	client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy; fastcgi_temp_path %[2]s/fastcgi; uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;
	large_client_header_buffers 4 32k;
	server { listen unix:%[3]s; location / { proxy_pass http://%[4]s; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`, user, dir, socket, upstream)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "-e", filepath.Join(dir, "log"), "-c", conf)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	eventually(t, "nginx", func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return socket
}

// In framing the relay is as strict as nginx or stricter: it sends no request that
// nginx doesn't, and keeps no connection that nginx ends. Each exception has its
// reason in the corpus.
func TestCorpusAgainstNginx(t *testing.T) {
	upstream := startStrict(t, true)
	socket := startNginx(t, upstream.addr)
	all := readCorpus(t, "framing.txt")
	inParallel(all, "open", func(c *corpusCase) {
		want := c.wants("open")
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Error(err)
			return
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
		raw, err := c.exchange(conn, corpusWays["open"], want.then)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		came, marker := upstream.of(c.name)
		laxer := len(want.sent) > len(came) || want.then == "lives" && !marker
		if laxer != (c.laxer != "") {
			t.Errorf("%s: laxer than nginx: %v; the corpus has %q; nginx sent %q, kept the connection: %v, answered %.60q",
				c.name, laxer, c.laxer, came, marker, raw)
		}
	})
}
