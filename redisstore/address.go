package redisstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"

	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Address says where a server is, or several that belong together.
type Address struct {
	kind     kind
	tls      bool
	hosts    []string // host:port, or the path of a socket
	master   string   // of Sentinel
	db       int
	user     string
	password string

	sentinelUser, sentinelPassword string
	caFile                         string // authorities to trust; "" = the system's
}

type kind int

const (
	single kind = iota
	socket
	sentinel
	cluster
)

const allowedURLs = "redis://, rediss:// (TLS), unix://, redis+sentinel://, rediss+sentinel://, redis+cluster:// and rediss+cluster://"

// ParseURL reads the address of a server:
//
//	redis://user:password@host:6379/0
//	rediss://…                                          with TLS
//	unix://user:password@/run/redis.sock?db=0
//	redis+sentinel://user:password@host1:26379,host2/master/0?sentinel_user=…&sentinel_password=…
//	redis+cluster://user:password@host1:6379,host2
//
// User, password, ports and database may be left out, and the password may
// stand alone, as in redis://:password@host. The names of the last two with
// rediss mean TLS; ca_file=/path names a PEM file of the authorities to trust in
// place of the system's. Errors contain no password.
func ParseURL(text string) (Address, error) {
	var a Address
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return a, errors.New("redisstore: the URL has no scheme; allowed: " + allowedURLs)
	}
	switch scheme {
	case "redis", "rediss":
	case "unix":
		a.kind = socket
	case "redis+sentinel", "rediss+sentinel":
		a.kind = sentinel
	case "redis+cluster", "rediss+cluster":
		a.kind = cluster
	default:
		return a, fmt.Errorf("redisstore: the URL's scheme is %q; allowed: %s", scheme, allowedURLs)
	}
	a.tls = strings.HasPrefix(scheme, "rediss")
	rest, query, _ := strings.Cut(rest, "?")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		if err := a.readUser(rest[:i]); err != nil {
			return a, err
		}
		rest = rest[i+1:]
	}
	authority, path, _ := strings.Cut(rest, "/")
	if err := a.readHosts(authority, path); err != nil {
		return a, err
	}
	err := a.readQuery(query)
	return a, err
}

// readUser reads user:password.
func (a *Address) readUser(text string) error {
	user, password, _ := strings.Cut(text, ":")
	var err, err2 error
	a.user, err = url.PathUnescape(user)
	a.password, err2 = url.PathUnescape(password)
	if err != nil || err2 != nil {
		return errors.New("redisstore: the URL's user or password has a % that isn't followed by two hex digits; allowed: %25 for %")
	}
	return nil
}

func (a *Address) readHosts(authority, path string) error {
	if a.kind == socket {
		if authority != "" || path == "" {
			return errors.New("redisstore: the URL has no path of a socket; allowed: unix:///run/redis.sock")
		}
		a.hosts = []string{"/" + path}
		return nil
	}
	port := "6379"
	if a.kind == sentinel {
		port = "26379"
	}
	for host := range strings.SplitSeq(authority, ",") {
		h, p, err := net.SplitHostPort(host)
		if err != nil {
			h, p = strings.Trim(host, "[]"), port
		}
		if n, err := strconv.Atoi(p); h == "" || err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("redisstore: the URL's host is %q; allowed: host or host:port, several with commas", host)
		}
		a.hosts = append(a.hosts, net.JoinHostPort(h, p))
	}
	if a.kind == single && len(a.hosts) > 1 {
		return errors.New("redisstore: the URL has several hosts; allowed: redis+sentinel://host1,host2/master and redis+cluster://host1,host2")
	}
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	if a.kind == sentinel {
		if a.master, parts = parts[0], parts[1:]; a.master == "" {
			return errors.New("redisstore: the URL doesn't name the master that Sentinel watches; allowed: redis+sentinel://host/master")
		}
	}
	if path = strings.Join(parts, "/"); path == "" {
		return nil
	}
	return a.readDB(path)
}

func (a *Address) readDB(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || a.kind == cluster {
		return fmt.Errorf("redisstore: the URL's database is %q; allowed: a number, none for a cluster", text)
	}
	a.db = n
	return nil
}

func (a *Address) readQuery(text string) error {
	values, err := url.ParseQuery(text)
	if err != nil {
		return errors.New("redisstore: the URL's parameters can't be read; allowed: name=value&name=value")
	}
	for name := range values {
		v := values.Get(name)
		switch {
		case name == "ca_file" && a.tls && v != "":
			a.caFile = v
		case name == "db" && a.kind == socket:
			if err := a.readDB(v); err != nil {
				return err
			}
		case name == "sentinel_user" && a.kind == sentinel:
			a.sentinelUser = v
		case name == "sentinel_password" && a.kind == sentinel:
			a.sentinelPassword = v
		default:
			return fmt.Errorf("redisstore: the URL's parameter %q; allowed: ca_file with TLS, db with unix://, sentinel_user and sentinel_password with Sentinel", name)
		}
	}
	return nil
}

// String returns the URL with *** for passwords.
func (a Address) String() string {
	scheme := [...]string{"redis", "unix", "redis+sentinel", "redis+cluster"}[a.kind]
	if a.tls {
		scheme = "rediss" + strings.TrimPrefix(scheme, "redis")
	}
	user := ""
	if a.user != "" || a.password != "" {
		if user = a.user; a.password != "" {
			user += ":***"
		}
		user += "@"
	}
	path := ""
	if a.master != "" {
		path = "/" + a.master
	}
	if a.db != 0 && a.kind == socket {
		path += "?db=" + strconv.Itoa(a.db)
	} else if a.db != 0 {
		path += "/" + strconv.Itoa(a.db)
	}
	return scheme + "://" + user + strings.Join(a.hosts, ",") + path
}

// secrets are what no text may contain, also as the URL has them. The longest
// come first, so that none leaves the rest of one that begins like it.
func (a Address) secrets() []string {
	var list []string
	for _, s := range []string{a.password, a.sentinelPassword} {
		if s != "" {
			list = append(list, s, url.PathEscape(s), url.QueryEscape(s))
		}
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// authorities returns those of caFile; nil for the system's.
func (a Address) authorities() (*x509.CertPool, error) {
	if a.caFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(a.caFile)
	if err != nil {
		return nil, fmt.Errorf("redisstore: the URL's ca_file: %w; allowed: a readable PEM file of certificates", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("redisstore: the URL's ca_file %s has no certificate; allowed: a PEM file of certificates", a.caFile)
	}
	return pool, nil
}

// client makes a client that waits for timeout at most at each step, half as long
// again for an answer, and never sends a command twice. trusted is of authorities.
func (a Address) client(timeout time.Duration, trusted *x509.CertPool) redis.UniversalClient {
	o := redis.UniversalOptions{
		Addrs: a.hosts, DB: a.db, Username: a.user, Password: a.password,
		MasterName: a.master, SentinelUsername: a.sentinelUser, SentinelPassword: a.sentinelPassword,

		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
		// Besides the way there and back both machines need some time. It is no longer,
		// since a call that waits pays for two answers of a server that stands still.
		ReadTimeout: timeout * 3 / 2,

		// A connection takes several ways there and back until it can be used,
		// for which calls don't wait.
		MinIdleConns: 10,

		// No commands beyond those that docs/operations.md lists.
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if a.tls {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}
		o.DialTimeout *= 3 // with TLS's handshake, of up to two ways there and back
	}
	switch a.kind {
	case cluster:
		c := o.Cluster()
		c.DisableRoutingPolicies = true
		return redis.NewClusterClient(c)
	case sentinel:
		return redis.NewFailoverClient(o.Failover())
	}
	c := o.Simple()
	if a.kind == socket {
		c.Network = "unix"
	}
	return redis.NewClient(c)
}
