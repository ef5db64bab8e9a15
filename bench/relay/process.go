package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one of the processes behind the load generator.
type process struct {
	name  string
	addr  string
	cmd   *exec.Cmd
	stdin io.Closer // its end ends a role
	dir   string    // made for it, removed after it
}

type processes struct{ upstream, baseline, relay *process }

// start starts them all. What was started is in the result even with an error.
func (s *settings) start() (ps processes, err error) {
	if ps.upstream, err = startRole("upstream", "-body", strconv.Itoa(s.body)); err != nil {
		return ps, err
	}
	upstream := "http://" + ps.upstream.addr
	if ps.baseline, err = startRole("baseline", "-upstream", upstream); err != nil {
		return ps, err
	}
	switch s.relay {
	case "binary":
		if s.profile != "" {
			return ps, errors.New("-profile needs -relay assembled")
		}
		ps.relay, err = startBinary(upstream)
	case "assembled":
		ps.relay, err = startRole("assembled", "-upstream", upstream, "-profile", s.profile)
	default:
		err = fmt.Errorf("-relay is %q; allowed: binary, assembled", s.relay)
	}
	if ps.relay != nil {
		ps.relay.name = "relay"
	}
	return ps, err
}

func (ps processes) stop() {
	for _, p := range []*process{ps.relay, ps.baseline, ps.upstream} {
		if p != nil {
			p.stop()
		}
	}
}

// startRole starts this program again in a role.
func startRole(role string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{roleArg, role}, args...)...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{name: role, cmd: cmd, stdin: stdin}
	if p.addr, err = firstLine(stdout); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s didn't start: %w", role, err)
	}
	return p, nil
}

// startBinary builds riftrelay from the tree and serves with it.
func startBinary(upstream string) (*process, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "riftrelay").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m riftrelay: %w", err)
	}
	dir, err := os.MkdirTemp("", "riftrelay-bench-")
	if err != nil {
		return nil, err
	}
	p := &process{name: "relay", dir: dir}
	exe := filepath.Join(dir, "riftrelay")
	build := exec.Command("go", "build", "-o", exe, "./cmd/riftrelay")
	build.Dir, build.Stderr = strings.TrimSpace(string(root)), os.Stderr
	if err := build.Run(); err != nil {
		p.stop()
		return nil, fmt.Errorf("go build ./cmd/riftrelay: %w", err)
	}
	addrs, err := freeAddrs(2)
	if err != nil {
		p.stop()
		return nil, err
	}
	p.addr = addrs[0]
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		p.stop()
		return nil, err
	}
	p.cmd = exec.Command(exe)
	p.cmd.Dir, p.cmd.Stderr = dir, os.Stderr
	p.cmd.Env = append(os.Environ(), "RIOT_TOKEN=RGAPI-00000000-0000-0000-0000-000000000000", "PACING=burst", "LOG_LEVEL=warn",
		"LISTEN_ADDR="+net.JoinHostPort(host, port), "PORT="+port, "ADMIN_ADDR="+addrs[1], "UPSTREAM_URL="+upstream)
	if err := p.cmd.Start(); err != nil {
		p.stop()
		return nil, err
	}
	if err := waitReady("http://" + p.addr + "/readyz"); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// freeAddrs returns n loopback addresses at which nobody listens now.
func freeAddrs(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all at the end: no address twice
		addrs[i] = l.Addr().String()
	}
	return addrs, nil
}

func waitReady(url string) error {
	client := &http.Client{Timeout: time.Second}
	var last error
	for range 100 {
		resp, err := client.Get(url)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(resp.Status)
		}
		last = err
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("the relay isn't ready: %w", last)
}

// stop ends the process, by force if it doesn't end by itself.
func (p *process) stop() {
	if p.cmd != nil && p.cmd.Process != nil {
		if p.stdin != nil {
			p.stdin.Close()
		} else {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
		}
		kill := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
		_ = p.cmd.Wait()
		kill.Stop()
	}
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
}
