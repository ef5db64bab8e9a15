package daemon

import (
	"bytes"
	"crypto/tls"
	"slices"
	"sync/atomic"
	"time"
)

// certificate is the relay's own, from TLS_CERT_FILE.
type certificate struct {
	read func() (*tls.Certificate, error)
	now  atomic.Pointer[tls.Certificate]
}

// load reads it, and reports whether it is another one. After an error the old
// one stays.
func (c *certificate) load() (changed bool, err error) {
	read, err := c.read()
	if err != nil {
		return false, err
	}
	if old := c.now.Load(); old != nil && slices.EqualFunc(old.Certificate, read.Certificate, bytes.Equal) {
		return false, nil
	}
	c.now.Store(read)
	return true, nil
}

// until is the day on which it ends.
func (c *certificate) until() string {
	leaf := c.now.Load().Leaf
	if leaf == nil {
		return ""
	}
	return leaf.NotAfter.UTC().Format(time.DateOnly)
}

// config serves it to whoever asks, under whatever name: clients know which
// they want.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil },
	}
}
