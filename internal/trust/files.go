package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/renameio/v2/maybe"

	"riftrelay/internal/files"
)

// The authority's two files.
const (
	CertificateFile = "riftrelay-ca.pem" // for clients to trust
	KeyFile         = "riftrelay-ca.key" // for the relay alone
)

// loadKey reads the key, or makes it. Of several processes that make it at
// once, one wins, and the others read its key.
func loadKey(dir string) (*ecdsa.PrivateKey, error) {
	file := filepath.Join(dir, KeyFile)
	key, err := readKey(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if _, err := os.Lstat(filepath.Join(dir, CertificateFile)); err == nil {
		// A process makes the key first. So if another one has made both
		// meanwhile, the key is there by now.
		if key, err := readKey(file); !errors.Is(err, fs.ErrNotExist) {
			return key, err
		}
		return nil, fmt.Errorf("TRUST_DIR: %s is missing, and %s is there; allowed: both files, or neither, for a new authority", file, CertificateFile)
	}
	if err := makeKey(dir, file); err != nil {
		return nil, fmt.Errorf("TRUST_DIR: %w; allowed: a directory that can be written", err)
	}
	return readKey(file)
}

func readKey(file string) (*ecdsa.PrivateKey, error) {
	text, err := files.Read(file)
	if err != nil {
		return nil, fmt.Errorf("TRUST_DIR: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("TRUST_DIR: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o007 != 0 {
		return nil, fmt.Errorf("TRUST_DIR: %s can be used by everybody on this machine, its mode is %#o; allowed: 0600", file, mode)
	}
	if block, _ := pem.Decode(text); block != nil {
		if held, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := held.(*ecdsa.PrivateKey); ok && key.Curve == elliptic.P256() {
				return key, nil
			}
		}
	}
	// What is wrong in it is not said: it is a key.
	return nil, fmt.Errorf("TRUST_DIR: %s holds no P-256 key; allowed: the file that riftrelay made, or none, for a new authority", file)
}

// makeKey puts a new key in place, whole or not at all, unless there is one.
func makeKey(dir, file string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // clients read the certificate in it
		return err
	}
	draft, err := os.CreateTemp(dir, "."+KeyFile+"-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // gone already, unless it was linked
	_, wrote := draft.Write(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if wrote == nil {
		wrote = draft.Sync()
	}
	if err := errors.Join(wrote, draft.Close()); err != nil {
		return err
	}
	err = os.Link(draft.Name(), file) // unlike a rename, it replaces nothing
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
		return nil
	}
	return os.Rename(draft.Name(), file) // where there are no links
}

// loadCertificate reads the authority's certificate; nil means that there is
// none.
func loadCertificate(dir string) (*x509.Certificate, error) {
	file := filepath.Join(dir, CertificateFile)
	text, err := files.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("TRUST_DIR: %w", err)
	}
	if block, _ := pem.Decode(text); block != nil {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("TRUST_DIR: %s holds no certificate; allowed: the file that riftrelay made, or none", file)
}

func writeCertificate(dir string, der []byte) error {
	return maybe.WriteFile(filepath.Join(dir, CertificateFile), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}
