// Package redisserver starts redis-server or valkey-server on loopback, for as
// long as somebody here needs one: the demo of several replicas, and tests. The
// server keeps nothing: what it knew is gone when it ends.
package redisserver

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ErrNone says that there is no server on this machine.
var ErrNone = errors.New("no redis-server here: install Debian's package redis-server, or name one by REDIS_BIN or VALKEY_BIN")

// Find returns the path of the server's binary: what VALKEY_BIN or REDIS_BIN
// names, otherwise redis-server or valkey-server of PATH. The error is ErrNone, also
// where what is named isn't there: another would not be what was to be tested.
func Find() (string, error) {
	for _, variable := range []string{"VALKEY_BIN", "REDIS_BIN"} {
		name := os.Getenv(variable)
		if name == "" {
			continue
		}
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("%s is %q: %w (%w)", variable, name, ErrNone, err)
		}
		return path, nil
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// Server is one server. Its methods aren't safe for concurrent use.
type Server struct {
	Addr string // host:port

	bin, dir string
	args     []string
	cmd      *exec.Cmd       // nil while it doesn't run
	ended    <-chan struct{} // closed when cmd has ended
	log      *output
}

// patience is how long a server may take to answer once started.
const patience = 20 * time.Second

// New makes a server that keeps its files in dir and listens on a free port of
// loopback, with further arguments. "--sentinel" as the last one makes it a
// Sentinel, which keeps its configuration in dir. It doesn't run yet.
func New(bin, dir string, args ...string) (*Server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	return &Server{Addr: addr, bin: bin, dir: dir, args: args, log: &output{}}, nil
}

func freeAddr() (string, error) {
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		addr := l.Addr().(*net.TCPAddr)
		if err := l.Close(); err != nil {
			return "", err
		}
		if addr.Port < 55_000 { // a node of a cluster also listens 10,000 above
			return addr.String(), nil
		}
	}
}

// Socket is the path of the socket that it also listens on; a Sentinel has none.
func (s *Server) Socket() string { return filepath.Join(s.dir, "s") }

// Port is that of Addr.
func (s *Server) Port() string {
	_, port, _ := net.SplitHostPort(s.Addr)
	return port
}

// URL is what STORE_URL takes.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Start runs it, and waits until it answers. What it knew before is forgotten.
func (s *Server) Start() error {
	var args []string
	if n := len(s.args); n > 0 && s.args[n-1] == "--sentinel" {
		file := filepath.Join(s.dir, "sentinel.conf")
		text := "bind 127.0.0.1\nport " + s.Port() + "\ndir " + s.dir + "\n" + strings.Join(s.args[:n-1], "\n") + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		args = []string{file, "--sentinel"}
	} else {
		args = append([]string{
			"--port", s.Port(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.dir, "--unixsocket", s.Socket(),
		}, s.args...)
	}
	s.cmd = exec.Command(s.bin, args...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = s.cmd.Wait() // Kill waits for that
		close(ended)
	}()
	s.ended = ended
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if s.answers() {
			return nil
		}
		select {
		case <-ended:
			end = time.Time{}
		default:
		}
	}
	s.Kill()
	return fmt.Errorf("%s on %s doesn't answer: %s", s.bin, s.Addr, s.log)
}

// answers reports whether it accepts commands, even if only to say that a password
// is needed.
func (s *Server) answers() bool {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	if c.SetDeadline(time.Now().Add(time.Second)) != nil {
		return false
	}
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	b := make([]byte, 64)
	n, _ := c.Read(b)
	return n > 0 && !bytes.HasPrefix(b, []byte("-LOADING"))
}

// Process is the one that runs; nil if none does.
func (s *Server) Process() *os.Process {
	if s.cmd == nil {
		return nil
	}
	return s.cmd.Process
}

// Kill ends it at once, if it runs.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.ended
	s.cmd = nil
}

// Log is what it has said.
func (s *Server) Log() string { return s.log.String() }

// output keeps the last words of a process.
type output struct {
	mu sync.Mutex
	b  []byte
}

const mostOutput = 64 << 10

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b = append(o.b, b...)
	if over := len(o.b) - mostOutput; over > 0 {
		o.b = append([]byte(nil), o.b[over:]...)
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.b)
}
