package redisstore

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// serverBinary finds redis-server, or what REDIS_BIN or VALKEY_BIN name. Where
// there is none the test is skipped; RIFTRELAY_REQUIRE=all makes that a failure.
func serverBinary(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv("VALKEY_BIN"), os.Getenv("REDIS_BIN"), "redis-server", "valkey-server"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const none = "no redis-server here (Debian's package redis-server, or REDIS_BIN, VALKEY_BIN): what needs a real one isn't tested"
	if os.Getenv("RIFTRELAY_REQUIRE") == "all" {
		t.Fatal(none)
	}
	t.Skip(none)
	return ""
}

// server is a real server on a free loopback port.
type server struct {
	t    testing.TB
	bin  string
	dir  string
	addr string
	args []string
	cmd  *exec.Cmd
	log  bytes.Buffer
}

// startServer starts one with further arguments.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{t: t, bin: serverBinary(t), dir: t.TempDir(), addr: freeAddr(t), args: args}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *server) start() {
	s.t.Helper()
	_, port, _ := net.SplitHostPort(s.addr)
	args := append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.dir, "--unixsocket", s.socket(),
	}, s.args...)
	s.cmd = exec.Command(s.bin, args...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.wait()
}

// wait waits until the server accepts calls.
func (s *server) wait() {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			continue
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		fmt.Fprint(c, "PING\r\n")
		b := make([]byte, 64)
		n, _ := c.Read(b)
		c.Close()
		if n > 0 && !strings.HasPrefix(string(b), "-LOADING") {
			return
		}
	}
	s.t.Fatalf("the server doesn't answer: %s", s.log.String())
}

func (s *server) socket() string { return filepath.Join(s.dir, "s") }

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *server) url() string { return "redis://" + s.addr }

// admin gives a client for the test's own use.
func (s *server) admin() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.addr})
	s.t.Cleanup(func() { c.Close() })
	return c
}

// do runs a command as the server's admin.
func (s *server) do(args ...any) any {
	s.t.Helper()
	v, err := s.admin().Do(context.Background(), args...).Result()
	if err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return v
}

func startMini(t testing.TB) *miniredis.Miniredis {
	t.Helper()
	return miniredis.RunT(t)
}

// patient is a store whose calls may take long: the machine may be busy.
func patient(t testing.TB, url string, change func(*Options)) *Store {
	t.Helper()
	o := Options{URL: url, Timeout: 5 * time.Second}
	if change != nil {
		change(&o)
	}
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
