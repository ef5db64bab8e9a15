package redisstore

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"riftrelay/internal/limit"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("ca", &x509.Certificate{
		Subject: pkix.Name{CommonName: "an authority of this test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// sign makes a certificate in the files name.pem and name.key.
func (a *authority) sign(name string, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{a.file(name + ".pem"): {Type: "CERTIFICATE", Bytes: der}, a.file(name + ".key"): {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// startTLS starts a server that speaks TLS on another port as well, with a
// certificate for loopback and returns the address there.
func startTLS(t *testing.T, a *authority) (s *server, addr string) {
	t.Helper()
	a.sign("server", &x509.Certificate{Subject: pkix.Name{CommonName: "redis"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	s = startServer(t, "--tls-port", port, "--tls-cert-file", a.file("server.pem"), "--tls-key-file", a.file("server.key"), "--tls-ca-cert-file", a.file("ca.pem"), "--tls-auth-clients", "no")
	return s, addr
}

// With TLS, the authority of ca_file, and the user of the documents.
func TestTLS(t *testing.T) {
	a := newAuthority(t)
	server, addr := startTLS(t, a)
	server.do(documentedUser(t)...)
	server.do("CONFIG", "SET", "requirepass", "another")
	s := patient(t, "rediss://riftrelay:PASSWORD@"+addr+"?ca_file="+a.file("ca.pem"), nil)
	if state, err := s.State(); state != Up {
		t.Fatal(err)
	}
	hints := s.Hints(t.Context())
	await(t, hints, limit.Hint{})
	granted(t, s)
	if p, err := s.Beat(t.Context(), "a", nil); err != nil || p.Live != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// What is wrong with TLS is said, with the setting that mends it, and without
// the password.
func TestTLSFailures(t *testing.T) {
	a := newAuthority(t)
	_, addr := startTLS(t, a)
	other := newAuthority(t)
	_, port, _ := net.SplitHostPort(addr)
	const secret = "s%33cret-canary"
	for _, c := range []struct{ name, url, part string }{
		{"another authority", addr + "?ca_file=" + other.file("ca.pem"), "ca_file"},
		{"the system's authorities", addr, "ca_file"},
		{"another name", "localhost:" + port + "?ca_file=" + a.file("ca.pem"), "localhost"},
		{"no TLS there", plain(t) + "?ca_file=" + a.file("ca.pem"), "redis:// in place of rediss://"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := patient(t, "rediss://riftrelay:"+secret+"@"+c.url, nil)
			_, err := s.State()
			var e *AwayError
			if !errors.As(err, &e) || e.Reason != ReasonTLS || !strings.Contains(err.Error(), c.part) {
				t.Errorf("%v, want %s and %q", err, ReasonTLS, c.part)
			}
			if err != nil && strings.Contains(err.Error(), "cret-canary") {
				t.Errorf("shows the password: %v", err)
			}
		})
	}
}

// plain returns the address of a server that answers all with an error.
func plain(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = c.Read(make([]byte, 1000))
				_, _ = c.Write([]byte("-ERR unknown command\r\n"))
			}()
		}
	}()
	return l.Addr().String()
}

// forward leads to an address from its own, and takes its time each way.
func forward(t *testing.T, to string, delay time.Duration) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			time.AfterFunc(2*delay, func() { // as TCP's handshake would
				far, err := net.Dial("tcp", to)
				if err != nil {
					near.Close()
					return
				}
				go carry(far, near, delay)
				go carry(near, far, delay)
			})
		}
	}()
	return l.Addr().String()
}

func carry(to, from net.Conn, delay time.Duration) {
	defer to.Close()
	defer from.Close()
	for {
		b := make([]byte, 16<<10)
		n, err := from.Read(b)
		if err != nil {
			return
		}
		time.Sleep(delay) // one question at a time: nothing overtakes
		if _, err := to.Write(b[:n]); err != nil && !errors.Is(err, io.EOF) {
			return
		}
	}
}

// A server that is 34 ms away there and back is reached with TLS and a password
// too, though the handshakes take longer than a call may.
func TestTLSFromAfar(t *testing.T) {
	a := newAuthority(t)
	server, addr := startTLS(t, a)
	server.do(documentedUser(t)...)
	far := forward(t, addr, 17*time.Millisecond)
	s, err := New(context.Background(), Options{URL: "rediss://riftrelay:PASSWORD@" + far + "?ca_file=" + a.file("ca.pem")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	began := time.Now()
	for end := began.Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err = s.Admit(t.Context(), oneCall()); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no call answered in 20 s: %v", err)
		}
	}
	t.Logf("the first answer after %v", time.Since(began))
	// Four at once: connections are made before calls need them. A machine that is
	// busy with something else may need more than one try.
	for try := 1; ; try++ {
		var bad atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 20 {
					if _, err := s.Admit(t.Context(), oneCall()); err != nil {
						bad.Add(1)
						time.Sleep(20 * time.Millisecond)
					}
				}
			})
		}
		all.Wait()
		switch {
		case bad.Load() <= 8:
			return
		case try == 10:
			t.Fatalf("%d of 80 calls failed, four at once", bad.Load())
		}
		time.Sleep(time.Second)
	}
}
