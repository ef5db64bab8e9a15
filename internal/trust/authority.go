// Package trust is the relay's local authority: it makes certificates for the
// names of Riot's API, so that clients which only speak https:// with those
// names can be served by the relay.
//
// The authority can do nothing else. Its own certificate is constrained to
// names under [Domain], critically, so that no program that trusts it accepts
// one for any other name, whoever gets hold of the key.
//
//   - authority.go: the authority's certificate, and its renewal.
//   - leaf.go: certificates for names, made on demand.
//   - files.go: how both parts of the authority are kept.
package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Domain is what the authority is constrained to: names that end in it.
const Domain = "api.riotgames.com"

const (
	lifetime = 5 * 365 * 24 * time.Hour // of the authority's certificate
	renewal  = lifetime / 5             // so much before its end there is a new one
	backdate = 24 * time.Hour           // clocks of clients may be slow
)

// Authority makes certificates. Its methods may be called from any goroutine.
type Authority struct {
	dir     string
	now     func() time.Time
	key     *ecdsa.PrivateKey // the authority's
	leafKey *ecdsa.PrivateKey // of all certificates that it makes; never written

	mu          sync.Mutex
	certificate *x509.Certificate // the authority's; replaced when it is renewed
	leaves      map[string]*tls.Certificate
}

// Open reads the authority of a directory, or makes one if there is none. now
// tells the time; nil is time.Now. An error says which file is wrong, and what
// is allowed.
func Open(dir string, now func() time.Time) (*Authority, error) {
	if now == nil {
		now = time.Now
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("TRUST_DIR: %w", err)
	}
	a := &Authority{dir: dir, now: now, leaves: make(map[string]*tls.Certificate)}
	if a.key, err = loadKey(dir); err != nil {
		return nil, err
	}
	if a.leafKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("TRUST_DIR: %w", err)
	}
	if a.certificate, err = loadCertificate(dir); err != nil {
		return nil, err
	}
	if a.certificate != nil {
		if err := a.mine(a.certificate); err != nil {
			return nil, fmt.Errorf("TRUST_DIR: %s %w; allowed: the pair that riftrelay made, or neither file", a.File(), err)
		}
	}
	_, err = a.current()
	return a, err
}

// File is where the authority's certificate is, for clients to trust.
func (a *Authority) File() string { return filepath.Join(a.dir, CertificateFile) }

// Certificate returns the authority's own certificate.
func (a *Authority) Certificate() *x509.Certificate {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.certificate
}

// Fingerprint is the SHA-256 of the authority's certificate, in hexadecimal.
func (a *Authority) Fingerprint() string {
	sum := sha256.Sum256(a.Certificate().Raw)
	return hex.EncodeToString(sum[:])
}

// current returns the authority's certificate, a new one before the old one ends.
// Only the dates change: programs that trust the old one go on until its end.
// The caller holds a.mu, or is Open.
func (a *Authority) current() (*x509.Certificate, error) {
	now := a.now()
	if a.certificate != nil && now.Before(a.certificate.NotAfter.Add(-renewal)) {
		return a.certificate, nil
	}
	fresh, err := a.issue(now)
	if err == nil {
		err = writeCertificate(a.dir, fresh.Raw)
	}
	switch {
	case err == nil:
		a.certificate = fresh
		clear(a.leaves)
	case a.certificate == nil || !now.Before(a.certificate.NotAfter):
		return nil, fmt.Errorf("TRUST_DIR: %w; allowed: a directory that can be written", err)
	}
	return a.certificate, nil // the old one has time left: it is tried again with the next certificate
}

// issue makes the authority's certificate.
func (a *Authority) issue(now time.Time) (*x509.Certificate, error) {
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	everyIPv4, everyIPv6 := &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      a.subject(),
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(lifetime),

		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage:    x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, // and so of all that it makes

		// A constraint on names says nothing of addresses, so these have one of
		// their own: none.
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         []string{Domain},
		ExcludedIPRanges:            []*net.IPNet{everyIPv4, everyIPv6},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// subject names the authority after its key: it is the same after a renewal,
// and no other authority's.
func (a *Authority) subject() pkix.Name {
	public, err := x509.MarshalPKIXPublicKey(&a.key.PublicKey)
	if err != nil {
		panic("BUG: " + err.Error()) // P-256 can be written
	}
	sum := sha256.Sum256(public)
	return pkix.Name{
		Organization: []string{"RiftRelay"},
		CommonName:   "RiftRelay local authority " + hex.EncodeToString(sum[:4]) + ", for " + Domain + " only",
	}
}

// mine reports what keeps c from being the certificate of this authority. One
// without the constraint, such as a company's own, is not used: its key could
// speak for the whole world.
func (a *Authority) mine(c *x509.Certificate) error {
	public, ok := c.PublicKey.(*ecdsa.PublicKey)
	switch {
	case !ok || !public.Equal(&a.key.PublicKey):
		return fmt.Errorf("doesn't belong to the key in %s", KeyFile)
	case !c.IsCA || !bytes.Equal(c.RawSubject, c.RawIssuer):
		return errors.New("is no authority's certificate")
	case !c.PermittedDNSDomainsCritical || !slices.Equal(c.PermittedDNSDomains, []string{Domain}) || len(c.ExcludedIPRanges) != 2:
		return errors.New("is not constrained to " + Domain)
	}
	return nil
}

// under reports whether a name is one label in front of Domain.
func under(name string) bool {
	label, found := strings.CutSuffix(name, "."+Domain)
	return found && label != "" && len(label) <= 63 && !strings.ContainsFunc(label, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
}

func serialNumber() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}
