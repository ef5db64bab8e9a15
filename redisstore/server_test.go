package redisstore

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"riftrelay/internal/redisserver"
)

// server is a real server on a free loopback port, which ends with the test.
type server struct {
	*redisserver.Server
	t testing.TB
}

// startServer starts one with further arguments. Where there is none the test
// is skipped; RIFTRELAY_REQUIRE=all makes that a failure.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	bin, err := redisserver.Find()
	if err != nil && os.Getenv("RIFTRELAY_REQUIRE") == "all" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	s, err := redisserver.New(bin, t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	started := &server{s, t}
	started.start()
	t.Cleanup(s.Kill)
	return started
}

func (s *server) start() {
	s.t.Helper()
	if err := s.Start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) url() string { return s.URL() }

// admin returns a client for the test's own use.
func (s *server) admin() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
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
