package riftrelay_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"go/ast"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"riftrelay"
	"riftrelay/riotsim"
)

// certificate makes one that signs itself, for an address or a name, and the
// pool of those who trust it. It holds in virtual time too.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	return certificateUntil(t, name, time.Now().Add(time.Hour))
}

func certificateUntil(t *testing.T, name string, end time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: end,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, roots
}

// Certificates that aren't Riot's end the call before anything is sent, and so
// before any charge; when the right one is back, so are the calls.
func TestUpstreamTLS(t *testing.T) {
	good, trusted := certificate(t, "127.0.0.1")
	others, _ := certificate(t, "127.0.0.1")
	misnamed, _ := certificate(t, "riot.example")
	old, _ := certificateUntil(t, "127.0.0.1", time.Now().Add(-time.Minute))
	trusted.AddCert(misnamed.Leaf)
	trusted.AddCert(old.Leaf)
	for name, bad := range map[string]*tls.Certificate{"signed by itself": &others, "of another name": &misnamed, "expired": &old} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Pointer[tls.Certificate]
			now.Store(bad)
			edge, err := riotsim.New(riotsim.Config{Table: table, Body: riotsim.Tiny})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(edge)
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
				return &tls.Config{Certificates: []tls.Certificate{*now.Load()}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}, nil
			}}
			server.StartTLS()
			t.Cleanup(server.Close)
			l, err := riftrelay.New(riftrelay.Config{Table: table, Pacing: riftrelay.PacingBurst, DefaultAppLimit: "1:600", Keys: []riftrelay.Key{{Value: oneKey}}})
			if err != nil {
				t.Fatal(err)
			}
			base := riftrelay.NewBase(riftrelay.BaseOptions{RootCAs: trusted})
			t.Cleanup(func() { l.Close(); base.CloseIdleConnections() })
			client := &http.Client{Transport: &riftrelay.Transport{Limiter: l, Base: base, Upstream: server.URL, Retry: riftrelay.Retry{Reset: true}}}
			for range 3 {
				_, _, err := call(t.Context(), client, http.MethodGet, byPUUID, "")
				if refused := (*tls.CertificateVerificationError)(nil); !errors.As(err, &refused) {
					t.Errorf("got %v, want a refusal of the certificate", err)
				}
			}
			if n := edge.Report().Arrived; n != 0 {
				t.Errorf("%d calls arrived where nobody was trusted", n)
			}
			now.Store(&good)
			if _, _, err := call(t.Context(), client, http.MethodGet, byPUUID, ""); err != nil {
				t.Errorf("with the right certificate: %v", err)
			}
		})
	}
}

// Nobody can switch off the checking of certificates: there is no such option,
// no such setting, and no such line in what we ship.
func TestCertificatesAreAlwaysChecked(t *testing.T) {
	lax := regexp.MustCompile(`(?i)insecure|skip.?(tls|verif)|no.?verif|verify.?(none|peer)`)
	options := reflect.TypeFor[riftrelay.BaseOptions]()
	for i := range options.NumField() {
		if name := options.Field(i).Name; lax.MatchString(name) {
			t.Errorf("BaseOptions.%s", name)
		}
	}
	if riftrelay.NewBase(riftrelay.BaseOptions{}).TLSClientConfig.InsecureSkipVerify {
		t.Error("NewBase checks nothing")
	}
	settings, err := os.ReadFile("docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	if found := lax.Find(settings); found != nil {
		t.Errorf("docs/settings.md has %q", found)
	}
	for _, files := range packages(t) {
		for _, f := range files {
			ast.Inspect(f.File, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && (id.Name == "InsecureSkipVerify" || id.Name == "VerifyPeerCertificate" || id.Name == "VerifyConnection") {
					t.Errorf("%s uses %s", f.name, id.Name)
				}
				return true
			})
		}
	}
}
