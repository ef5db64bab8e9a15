package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"riftrelay/internal/files"
)

type settings struct {
	headers map[string]string
	timeout time.Duration
	gzip    bool
	tls     *tls.Config // nil = the system's authorities
}

// read takes OTEL_EXPORTER_OTLP_TRACES_X, otherwise OTEL_EXPORTER_OTLP_X, as
// the specification of OpenTelemetry's exporters says.
func read(getenv func(string) string) (settings, error) {
	find := func(name string) (full, value string) {
		for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
			if value = getenv(prefix + name); value != "" {
				return prefix + name, value
			}
		}
		return "", ""
	}
	s := settings{timeout: 10 * time.Second}
	if name, value := find("HEADERS"); value != "" {
		headers, ok := parseHeaders(value)
		if !ok {
			return s, fmt.Errorf("invalid %s: want name=value, separated by commas", name) // the value may hold a secret
		}
		s.headers = headers
	}
	if name, value := find("TIMEOUT"); value != "" {
		ms, err := strconv.Atoi(value)
		if err != nil || ms < 1 {
			return s, fmt.Errorf("invalid %s %q: want a number of milliseconds", name, value)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	switch name, value := find("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		return s, fmt.Errorf("invalid %s %q: want gzip or none", name, value)
	}
	err := s.readTLS(find) // changes s
	return s, err
}

func (s *settings) readTLS(find func(string) (string, string)) error {
	caName, ca := find("CERTIFICATE")
	certName, cert := find("CLIENT_CERTIFICATE")
	_, key := find("CLIENT_KEY")
	if ca == "" && cert == "" {
		return nil
	}
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := files.Read(ca)
		if err != nil {
			return fmt.Errorf("%s: %w", caName, err)
		}
		s.tls.RootCAs = x509.NewCertPool()
		if !s.tls.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("invalid %s %q: want a file of certificates in PEM form", caName, ca)
		}
	}
	if cert != "" {
		pair, err := keyPair(cert, key)
		if err != nil {
			return fmt.Errorf("%s: %w", certName, err)
		}
		s.tls.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// parseHeaders reads name=value pairs, whose values may be percent-encoded.
func parseHeaders(list string) (map[string]string, bool) {
	headers := map[string]string{}
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, found := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || err != nil || !isName(name) || strings.ContainsAny(value, "\r\n\x00") {
			return nil, false
		}
		headers[name] = value
	}
	return headers, true
}

// isName reports whether a text can name a header (RFC 9110, 5.1).
func isName(s string) bool {
	return s != "" && strings.Trim(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// keyPair reads a certificate and its key.
func keyPair(cert, key string) (tls.Certificate, error) {
	certPEM, err := files.Read(cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyPEM, err := files.Read(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}
