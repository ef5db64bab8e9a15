package redisserver

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func TestFindNamesWhatIsMissing(t *testing.T) {
	t.Setenv("REDIS_BIN", "")
	t.Setenv("VALKEY_BIN", "/nowhere/valkey-server")
	if path, err := Find(); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), `VALKEY_BIN is "/nowhere/valkey-server"`) {
		t.Errorf("%s, %v: not another server than the one that was named", path, err)
	}
	t.Setenv("PATH", "")
	t.Setenv("VALKEY_BIN", "")
	if _, err := Find(); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

// ask sends a command line and returns the first line of the answer.
func ask(t *testing.T, s *Server, line string) string {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write([]byte(line + "\r\n")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 256)
	n, _ := c.Read(b)
	first, _, _ := strings.Cut(string(b[:n]), "\r\n")
	return first
}

// A server forgets when it ends, and one that can't start says why.
func TestServer(t *testing.T) {
	bin, err := Find()
	if err != nil && os.Getenv("RIFTRELAY_REQUIRE") == "all" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	s, err := New(bin, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	if got := ask(t, s, "SET a 1"); got != "+OK" {
		t.Errorf("SET: %q", got)
	}
	s.Kill()
	if s.Process() != nil {
		t.Error("a process after the end")
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s, "EXISTS a"); got != ":0" {
		t.Errorf("EXISTS after a restart: %q", got)
	}
	wrong, err := New(bin, t.TempDir(), "--no-such-setting", "1")
	if err != nil {
		t.Fatal(err)
	}
	if err := wrong.Start(); err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("%v", err)
	}
}
