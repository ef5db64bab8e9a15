package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) func() time.Time { return func() time.Time { return start.Add(d) } }

func open(t *testing.T, dir string, now func() time.Time) *Authority {
	t.Helper()
	a, err := Open(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// verify checks a chain as a client does that trusts root.
func verify(leaf, root *x509.Certificate, name string, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AddCert(root)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now})
	return err
}

func TestChainForRiotsNames(t *testing.T) {
	a := open(t, t.TempDir(), at(0))
	for _, name := range []string{"euw1.api.riotgames.com", "americas.api.riotgames.com"} {
		c, err := a.Leaf(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(c.Leaf, a.Certificate(), name, start); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := verify(c.Leaf, a.Certificate(), "na1.api.riotgames.com", start); err == nil {
			t.Errorf("the certificate for %s is taken for na1's", name)
		}
		again, _ := a.Leaf(name)
		if again != c {
			t.Errorf("%s: made anew", name)
		}
	}
}

// Names outside the constraint get no certificate, and one made with the stolen
// key is worth nothing.
func TestNothingOutsideTheConstraint(t *testing.T) {
	a := open(t, t.TempDir(), at(0))
	for _, name := range []string{
		"example.com", "api.riotgames.com", "xapi.riotgames.com", "euw1.api.riotgames.com.evil.example", "euw1.api.riotgames.com.", "a.b.api.riotgames.com",
		"*.api.riotgames.com", ".api.riotgames.com", "EUW1.api.riotgames.com", "", "127.0.0.1", "euw1。api.riotgames.com",
	} {
		if c, err := a.Leaf(name); err == nil {
			t.Errorf("%q: a certificate for %v", name, c.Leaf.DNSNames)
		}
	}
	forge := func(c *x509.Certificate) *x509.Certificate {
		t.Helper()
		c.SerialNumber, _ = serialNumber()
		c.NotBefore, c.NotAfter = start.Add(-time.Hour), start.Add(time.Hour)
		c.KeyUsage, c.BasicConstraintsValid = x509.KeyUsageDigitalSignature|x509.KeyUsageCertSign, true
		der, err := x509.CreateCertificate(rand.Reader, c, a.Certificate(), &a.leafKey.PublicKey, a.key)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, name := range []string{"example.com", "riotgames.com", "auth.riotgames.com", "127.0.0.1", "::1"} {
		c := &x509.Certificate{DNSNames: []string{name}}
		if ip := net.ParseIP(name); ip != nil {
			c = &x509.Certificate{IPAddresses: []net.IP{ip}}
		}
		if err := verify(forge(c), a.Certificate(), name, start); err == nil || !strings.Contains(err.Error(), "constraint") && !strings.Contains(err.Error(), "not permitted") && !strings.Contains(err.Error(), "excluded") {
			t.Errorf("a forged certificate for %s: %v", name, err)
		}
	}
	// Neither can it make another authority, nor certificates for people.
	below := forge(&x509.Certificate{DNSNames: []string{"euw1.api.riotgames.com"}, IsCA: true})
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: below.SerialNumber, NotBefore: start, NotAfter: start.Add(time.Hour), DNSNames: []string{"euw1.api.riotgames.com"},
	}, below, &a.leafKey.PublicKey, a.leafKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, _ := x509.ParseCertificate(der)
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(a.Certificate())
	between.AddCert(below)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: start}); err == nil {
		t.Error("an authority below the authority is trusted")
	}
	person := forge(&x509.Certificate{EmailAddresses: []string{"a@example.com"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection}})
	if _, err := person.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: start, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection}}); err == nil {
		t.Error("a certificate for mail is trusted")
	}
}

func TestAuthorityIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "trust")
	first := open(t, dir, at(0))
	info, err := os.Stat(filepath.Join(dir, KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode: %v, %v", info.Mode(), err)
	}
	if text, _ := os.ReadFile(first.File()); strings.Contains(string(text), "PRIVATE") {
		t.Error("the certificate's file holds a key")
	}
	second := open(t, dir, at(time.Hour))
	if first.Fingerprint() != second.Fingerprint() {
		t.Error("another authority after a restart")
	}
	if list, _ := os.ReadDir(dir); len(list) != 2 {
		t.Errorf("files: %v", list)
	}
}

// Renewed before it ends, with the same key and name: who trusts the old one is
// served on.
func TestAuthorityIsRenewed(t *testing.T) {
	dir := t.TempDir()
	old := open(t, dir, at(0)).Certificate()
	later := lifetime - renewal + time.Hour
	a := open(t, dir, at(later))
	if fresh := a.Certificate(); !fresh.NotAfter.After(old.NotAfter) || string(fresh.RawSubject) != string(old.RawSubject) {
		t.Errorf("not renewed: until %v, before until %v", fresh.NotAfter, old.NotAfter)
	}
	c, err := a.Leaf("euw1.api.riotgames.com")
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []*x509.Certificate{old, a.Certificate()} {
		if err := verify(c.Leaf, root, "euw1.api.riotgames.com", start.Add(later)); err != nil {
			t.Error(err)
		}
	}
	if open(t, dir, at(later)).Fingerprint() != a.Fingerprint() {
		t.Error("renewed, and not kept")
	}
}

// A relay that runs for years needs no restart.
func TestRenewalWhileRunning(t *testing.T) {
	var passed time.Duration
	a := open(t, t.TempDir(), func() time.Time { return start.Add(passed) })
	before := a.Fingerprint()
	first, _ := a.Leaf("euw1.api.riotgames.com")
	passed = leafLifetime - leafRenewal + time.Hour
	second, err := a.Leaf("euw1.api.riotgames.com")
	if err != nil || second == first || a.Fingerprint() != before {
		t.Errorf("the leaf was not renewed alone: %v", err)
	}
	passed = lifetime - renewal + time.Hour
	third, err := a.Leaf("euw1.api.riotgames.com")
	if err != nil || a.Fingerprint() == before || !third.Leaf.NotAfter.After(start.Add(passed)) {
		t.Errorf("not renewed: %v", err)
	}
	text, _ := os.ReadFile(a.File())
	if block, _ := pem.Decode(text); block == nil || string(block.Bytes) != string(a.Certificate().Raw) {
		t.Error("the file has the old one")
	}
}

func TestLeavesAreBounded(t *testing.T) {
	a := open(t, t.TempDir(), at(0))
	for i := range mostLeaves + 10 {
		name := strings.Map(func(r rune) rune { return 'a' + (r - '0') }, string([]byte{'0' + byte(i/100%10), '0' + byte(i/10%10), '0' + byte(i%10), '0' + byte(i/1000)})) + "." + Domain
		if _, err := a.Leaf(name); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(a.leaves); n > mostLeaves {
		t.Errorf("%d are kept", n)
	}
}

func TestProcessesThatStartTogetherAgree(t *testing.T) {
	dir := t.TempDir()
	var all [8]*Authority
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i], _ = Open(dir, at(0)) })
	}
	wg.Wait()
	root := open(t, dir, at(0)).Certificate()
	for i, a := range all {
		if a == nil {
			t.Fatalf("%d: no authority", i)
		}
		c, err := a.Leaf("kr.api.riotgames.com")
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(c.Leaf, root, "kr.api.riotgames.com", start); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	other := t.TempDir()
	open(t, other, at(0))
	for name, c := range map[string]struct {
		spoil func(dir string) error
		says  string
	}{
		"key missing":     {func(dir string) error { return os.Remove(filepath.Join(dir, KeyFile)) }, "is missing"},
		"key is garbage":  {func(dir string) error { return os.WriteFile(filepath.Join(dir, KeyFile), []byte("SECRET"), 0o600) }, "no P-256 key"},
		"key for all":     {func(dir string) error { return os.Chmod(filepath.Join(dir, KeyFile), 0o644) }, "0600"},
		"cert is garbage": {func(dir string) error { return os.WriteFile(filepath.Join(dir, CertificateFile), []byte("x"), 0o644) }, "no certificate"},
		"another's cert": {func(dir string) error {
			text, err := os.ReadFile(filepath.Join(other, CertificateFile))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, CertificateFile), text, 0o644)
		}, "doesn't belong"},
		"unconstrained": {func(dir string) error {
			key, err := readKey(filepath.Join(dir, KeyFile))
			if err != nil {
				return err
			}
			serial, _ := serialNumber()
			template := &x509.Certificate{SerialNumber: serial, NotBefore: start, NotAfter: start.Add(lifetime), IsCA: true, BasicConstraintsValid: true}
			der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
			if err != nil {
				return err
			}
			return writeCertificate(dir, der)
		}, "not constrained"},
	} {
		dir := t.TempDir()
		open(t, dir, at(0))
		if err := c.spoil(dir); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir, at(0))
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "TRUST_DIR") || !strings.Contains(err.Error(), "allowed") || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v; want it to say %q", name, err, c.says)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "below"), at(0)); err == nil || !strings.Contains(err.Error(), "TRUST_DIR") {
		t.Errorf("no directory: %v", err)
	}
}

// Every handshake is asked about, resumed ones too.
func TestEveryHandshakeIsAsked(t *testing.T) {
	a := open(t, t.TempDir(), nil)
	var asked []string
	config := a.Config(func(hello *tls.ClientHelloInfo) error {
		asked = append(asked, hello.ServerName)
		if hello.ServerName == "na1.api.riotgames.com" {
			return io.ErrUnexpectedEOF
		}
		return nil
	})
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate())
	client := &tls.Config{RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(4), NextProtos: []string{"h2", "http/1.1"}}
	dial := func(name string) (tls.ConnectionState, error) {
		up, down := net.Pipe()
		defer up.Close()
		defer down.Close()
		go func() {
			s := tls.Server(down, config)
			if s.Handshake() == nil {
				_, _ = s.Write([]byte("x"))
			}
			down.Close()
		}()
		c := client.Clone()
		c.ServerName = name
		conn := tls.Client(up, c)
		_, err := conn.Read(make([]byte, 1)) // the ticket comes with it
		return conn.ConnectionState(), err
	}
	for i := range 2 {
		state, err := dial("euw1.api.riotgames.com")
		if err != nil || state.DidResume != (i == 1) || state.NegotiatedProtocol != "http/1.1" {
			t.Errorf("%d: %v, resumed %v, %q", i, err, state.DidResume, state.NegotiatedProtocol)
		}
	}
	if _, err := dial("na1.api.riotgames.com"); err == nil {
		t.Error("a refused name is served")
	}
	if _, err := dial("example.com"); err == nil {
		t.Error("example.com is served")
	}
	if len(asked) != 4 {
		t.Errorf("asked about %q", asked)
	}
}

func TestLeafKeyIsNotTheAuthoritys(t *testing.T) {
	a := open(t, t.TempDir(), at(0))
	c, err := a.Leaf("kr.api.riotgames.com")
	if err != nil {
		t.Fatal(err)
	}
	key := c.PrivateKey.(*ecdsa.PrivateKey)
	if key.Equal(a.key) || key.Curve != elliptic.P256() || len(c.Certificate) != 2 {
		t.Error("a certificate with the authority's key")
	}
}
