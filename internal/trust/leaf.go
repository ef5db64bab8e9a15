package trust

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"time"
)

const (
	leafLifetime = 90 * 24 * time.Hour
	leafRenewal  = leafLifetime / 3
	mostLeaves   = 1024 // kept; there are some forty names
)

// Leaf returns the certificate for a name one label under [Domain], with its key
// and the authority's own certificate. It is made at the first call and kept
// until a third of its life is left. Any other name is an error.
func (a *Authority) Leaf(name string) (*tls.Certificate, error) {
	if !under(name) {
		return nil, fmt.Errorf("trust: no certificate for %.100q; allowed: a name like euw1.%s", name, Domain)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if leaf := a.leaves[name]; leaf != nil && now.Before(leaf.Leaf.NotAfter.Add(-leafRenewal)) {
		return leaf, nil
	}
	issuer, err := a.current()
	if err != nil {
		return nil, err
	}
	leaf, err := a.sign(name, issuer, now)
	if err != nil {
		return nil, fmt.Errorf("trust: a certificate for %s: %w", name, err)
	}
	if len(a.leaves) >= mostLeaves {
		clear(a.leaves)
	}
	a.leaves[name] = leaf
	return leaf, nil
}

func (a *Authority) sign(name string, issuer *x509.Certificate, now time.Time) (*tls.Certificate, error) {
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	end := now.Add(leafLifetime)
	if end.After(issuer.NotAfter) {
		end = issuer.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    now.Add(-backdate),
		NotAfter:     end,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},

		BasicConstraintsValid: true,
	}, issuer, &a.leafKey.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, issuer.Raw}, PrivateKey: a.leafKey, Leaf: parsed}, nil
}

// Config speaks TLS with who may be spoken to: allowed sees every handshake,
// resumed ones too, before anything is answered. Inside is HTTP/1.1: one
// connection is one call at a time, as the bounds on descriptors expect.
func (a *Authority) Config(allowed func(*tls.ClientHelloInfo) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			return nil, allowed(hello)
		},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return a.Leaf(hello.ServerName)
		},
	}
}
