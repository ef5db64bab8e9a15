package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestParseURL(t *testing.T) {
	for _, c := range []struct{ url, shown string }{
		{"redis://h", "redis://h:6379"},
		{"redis://h:7000/2", "redis://h:7000/2"},
		{"rediss://u:s%40cret@h", "rediss://u:***@h:6379"},
		{"redis://:s%40cret@[::1]:7000/0", "redis://:***@[::1]:7000"},
		{"redis://u@h", "redis://u@h:6379"},
		{"redis://[::1]", "redis://[::1]:6379"},
		{"unix:///run/redis.sock?db=3", "unix:///run/redis.sock?db=3"},
		{"redis+sentinel://:s%40cret@a,b:1/main/4?sentinel_password=s%40cret", "redis+sentinel://:***@a:26379,b:1/main/4"},
		{"rediss+sentinel://a/main", "rediss+sentinel://a:26379/main"},
		{"rediss+cluster://u:s%40cret@a,b:1?ca_file=/ca.pem", "rediss+cluster://u:***@a:6379,b:1"},
		{"rediss+cluster://a/", "rediss+cluster://a:6379"},
	} {
		a, err := ParseURL(c.url)
		if err != nil || a.String() != c.shown {
			t.Errorf("%s: %s, %v; want %s", c.url, a, err, c.shown)
		}
		if strings.Contains(c.url, "s%40cret") && !slices.Contains(a.secrets(), "s@cret") {
			t.Errorf("%s: secrets %q", c.url, a.secrets())
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	for url, part := range map[string]string{
		"localhost:6379":                "no scheme",
		"http://:s3cret@h":              `scheme is "http"`,
		"redis://:s3cret%zz@h":          "two hex digits",
		"redis://:s3cret@":              `host is ""`,
		"redis://:s3cret@h:0":           `host is "h:0"`,
		"redis://:s3cret@h:x":           `host is "h:x"`,
		"redis://:s3cret@a,b":           "several hosts",
		"redis://:s3cret@h/x":           `database is "x"`,
		"redis://:s3cret@h/1/2":         `database is "1/2"`,
		"redis+cluster://:s3cret@h/1":   `database is "1"`,
		"redis+sentinel://:s3cret@h":    "doesn't name the master",
		"unix://:s3cret@h/x":            "path of a socket",
		"redis://:s3cret@h?x=s3cret":    `parameter "x"`,
		"redis://:s3cret@h?%zz=s3cret":  "parameters can't be read",
		"redis://h?ca_file=s3cret":      `parameter "ca_file"`,
		"rediss://h?ca_file=/missing":   "ca_file",
		"rediss://h?ca_file=doc.go":     "has no certificate",
		"redis://h?sentinel_password=a": `parameter "sentinel_password"`,
	} {
		_, err := New(t.Context(), Options{URL: url})
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "allowed") && part != "no scheme" {
			t.Errorf("%s: %v; want %q", url, err, part)
		}
	}
}

// Whatever the kind of server: short steps, nothing sent twice.
func TestClientsWaitBriefly(t *testing.T) {
	const d = 50 * time.Millisecond
	for _, url := range []string{"redis://h", "rediss://h", "unix:///s", "redis+sentinel://h/m", "redis+cluster://h", "rediss+cluster://h"} {
		a, err := ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		c := a.client(d, nil)
		t.Cleanup(func() { c.Close() })
		var got, tls string
		switch c := c.(type) {
		case *redis.Client:
			o := c.Options()
			got = fmt.Sprint(o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout, o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled)
			tls = fmt.Sprint(o.TLSConfig != nil)
		case *redis.ClusterClient:
			o := c.Options()
			got = fmt.Sprint(o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout, max(0, o.MaxRetries), o.DialerRetries, o.ContextTimeoutEnabled)
			tls = fmt.Sprint(o.TLSConfig != nil)
		}
		dial := d
		if strings.HasPrefix(url, "rediss") {
			dial = 3 * d
		}
		if want := fmt.Sprint(dial, d*3/2, d, d, 0, 1, true); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
		if want := fmt.Sprint(strings.HasPrefix(url, "rediss")); tls != want {
			t.Errorf("%s: TLS %s", url, tls)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	hanging := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer hanging.Close()
	for _, c := range []struct {
		o    Options
		part string
	}{
		{Options{}, "neither"},
		{Options{URL: "redis://h", Client: hanging}, "both"},
		{Options{Client: hanging}, "ContextTimeoutEnabled"},
		{Options{URL: "redis://h", Timeout: time.Microsecond}, "Timeout"},
	} {
		if _, err := New(t.Context(), c.o); err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.part)
		}
	}
}

// Passwords appear in no text, not even where a server or the network says them.
func TestPasswordsAreMasked(t *testing.T) {
	s, err := New(t.Context(), Options{URL: "redis://u:s%40cret@127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, away1 := s.State()
	if why := away(errors.New("?"), nil).Why(); why != "network: ?" {
		t.Errorf("why: %s", why)
	}
	for _, text := range []string{s.String(), away1.Error(), away(errors.New("dial s@cret, s%40cret"), s.link.secrets).Error()} {
		if strings.Contains(text, "s@cret") || strings.Contains(text, "s%40cret") {
			t.Errorf("shows the password: %s", text)
		}
	}
	a, err := ParseURL("redis+sentinel://:word@h/main?sentinel_password=word-CANARY")
	if err != nil {
		t.Fatal(err)
	}
	if text := away(errors.New("dial word-CANARY, word"), a.secrets()).Error(); strings.Contains(text, "CANARY") {
		t.Errorf("shows the end of a password: %s", text)
	}
}
