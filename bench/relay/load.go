package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The load generator speaks just enough HTTP/1.1, so that it leaves the machine
// to what is measured: one request at a time on each connection, the same bytes
// each time, and of the answer only its status and length are looked at.

// paths are called in turn, each connection starting at another one.
var paths = [...]string{
	"/euw1/lol/summoner/v4/summoners/by-puuid/pbBp9a0eLZ8nJ1xhc3wQm5tYv2kR7sUfT4gXoD6iNqEaHyKjMlVzOrPuWbScIdGtFeCxAh",
	"/euw1/lol/league/v4/entries/by-puuid/pbBp9a0eLZ8nJ1xhc3wQm5tYv2kR7sUfT4gXoD6iNqEaHyKjMlVzOrPuWbScIdGtFeCxAh",
	"/europe/lol/match/v5/matches/by-puuid/pbBp9a0eLZ8nJ1xhc3wQm5tYv2kR7sUfT4gXoD6iNqEaHyKjMlVzOrPuWbScIdGtFeCxAh/ids?start=0&count=20",
	"/europe/lol/match/v5/matches/EUW1_7012345678",
}

// mostPerConn bounds what one connection sends in a run.
const mostPerConn = 1 << 20

// result is one run.
type result struct {
	took  time.Duration
	cpu   time.Duration   // of the proxy's process
	times []time.Duration // of every request, sorted
}

func (r result) perSecond() float64     { return float64(len(r.times)) / r.took.Seconds() }
func (r result) cpuPerRequest() float64 { return r.cpu.Seconds() / float64(len(r.times)) }
func (r result) p50() float64           { return r.times[len(r.times)/2].Seconds() }
func (r result) p99() float64           { return r.times[len(r.times)*99/100].Seconds() }

// load sends to p for as long as told. Anything but a 200 is an error.
func (s *settings) load(p *process, d time.Duration) (result, error) {
	conns := make([]*conn, s.conns)
	for i := range conns {
		c, err := dial(p.addr, i)
		if err != nil {
			return result{}, err
		}
		defer c.Close()
		conns[i] = c
	}
	before, err := p.cpu()
	if err != nil {
		return result{}, err
	}
	begin := time.Now()
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() { c.err = c.run(begin.Add(d)) })
	}
	wg.Wait()
	r := result{took: time.Since(begin)}
	after, err := p.cpu()
	if err != nil {
		return result{}, err
	}
	r.cpu = after - before
	for _, c := range conns {
		if c.err != nil {
			return result{}, c.err
		}
		r.times = append(r.times, c.times...)
	}
	slices.Sort(r.times)
	return r, nil
}

type conn struct {
	net.Conn
	in    *bufio.Reader
	turn  int
	times []time.Duration
	err   error
}

func dial(addr string, turn int) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: bufio.NewReaderSize(c, 8<<10), turn: turn, times: make([]time.Duration, 0, 1<<14)}, nil
}

func (c *conn) run(until time.Time) error {
	if err := c.SetDeadline(until.Add(10 * time.Second)); err != nil {
		return err
	}
	var requests [len(paths)][]byte
	for i, p := range paths {
		requests[i] = []byte("GET " + p + " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: application/json\r\n\r\n")
	}
	for now := time.Now(); now.Before(until) && len(c.times) < mostPerConn; {
		if _, err := c.Write(requests[c.turn%len(paths)]); err != nil {
			return err
		}
		c.turn++
		if err := c.answer(); err != nil {
			return err
		}
		done := time.Now()
		c.times = append(c.times, done.Sub(now))
		now = done
	}
	if len(c.times) == 0 {
		return fmt.Errorf("no request was answered")
	}
	return nil
}

// answer reads one answer with a known length.
func (c *conn) answer() error {
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		return fmt.Errorf("answer %q, want 200", status)
	}
	const lengthName = "Content-Length: "
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if len(line) > len(lengthName) && bytes.EqualFold(line[:len(lengthName)], []byte(lengthName)) {
			if length, err = strconv.Atoi(string(line[len(lengthName):])); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("an answer without Content-Length")
	}
	_, err = io.CopyN(io.Discard, c.in, int64(length))
	return err
}
