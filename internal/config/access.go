package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// everyone in a list means all.
const everyone = "*"

// corsOrigins reads origins as browsers send them.
func corsOrigins(to *[]string) value {
	return value{
		allowed: "origins, separated by commas, each whole, as in https://app.example,http://localhost:3000; * alone = all",
		read: func(text string) error {
			var list []string
			for item := range strings.SplitSeq(text, ",") {
				item = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(item), "/"))
				u, err := url.Parse(item)
				if item != everyone && (err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != item || strings.Contains(u.Host, "*")) {
					return fmt.Errorf("%q is no origin", item)
				}
				list = append(list, item)
			}
			*to = list
			return nil
		},
	}
}

// allowedHosts reads names without ports.
func allowedHosts(to *[]string) value {
	return value{
		allowed: "host names without a port, separated by commas, as in relay.example; * = any",
		read: func(text string) error {
			var list []string
			for item := range strings.SplitSeq(text, ",") {
				item = strings.ToLower(strings.TrimSpace(item))
				if item != everyone && (strings.Contains(item, ":") || !isHost(item)) {
					return fmt.Errorf("%q is no host name", item)
				}
				list = append(list, item)
			}
			*to = list
			return nil
		},
	}
}

// finishAccess settles which names the relay answers to, and looks at its certificate.
func (d *draft) finishAccess(s *Settings, env Env, complain func(string, error)) {
	if s.Hosts == nil {
		if s.Hosts = []string{}; !onLoopback(s.Listen) {
			s.Hosts = []string{everyone}
		}
	}
	if d.certFile == "" && d.certKeyFile == "" {
		return
	}
	s.CertFile, s.CertKeyFile = d.certFile, d.certKeyFile
	s.certificate = func() (*tls.Certificate, error) { return readCertificate(env, d.certFile, d.certKeyFile) }
	switch {
	case d.certKeyFile == "":
		complain("TLS_CERT_FILE", errors.New("TLS_KEY_FILE, which belongs to it, is not set"))
	case d.certFile == "":
		complain("TLS_KEY_FILE", errors.New("TLS_CERT_FILE, which belongs to it, is not set"))
	case env.reloads == everything:
		if _, err := s.certificate(); err != nil {
			complain("TLS_CERT_FILE", err)
		}
	}
}

// readCertificate reads a certificate and its key. Errors have nothing of the key in them.
func readCertificate(env Env, certFile, keyFile string) (*tls.Certificate, error) {
	chain, err := env.ReadFile(certFile)
	if err != nil {
		return nil, err
	}
	key, err := env.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	c, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &c, nil
}

// onLoopback reports whether an address to listen on is reached from this machine alone.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, localhost) {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
