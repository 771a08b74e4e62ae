package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// Certificate is the server's TLS certificate, reloaded when its files change.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	current atomic.Pointer[tls.Certificate]
	loading sync.Mutex
	seen    [2]stamp
}

// LoadCertificate reads a certificate chain and its key, both PEM.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	if log == nil {
		log = slog.Default()
	}
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	c.seen = c.stamps()
	if err := c.load(); err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "TLS certificate")
	}
	return c, nil
}

// selfSignedLife is long, and a certificate that is over is made anew at the next start.
const selfSignedLife = 2 * 365 * 24 * time.Hour

// SelfSigned loads the certificate kept in dir, or makes one for hosts and
// keeps it there, so that clients may pin its fingerprint across restarts.
func SelfSigned(dir string, hosts []string, log *slog.Logger) (*Certificate, error) {
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if c, err := LoadCertificate(certFile, keyFile, log); err == nil && time.Now().Before(c.leaf().NotAfter) {
		return c, nil
	}
	if err := makeSelfSigned(dir, certFile, keyFile, hosts); err != nil {
		return nil, fault.ConfigInvalid.Wrap(err, "TLS certificate")
	}
	return LoadCertificate(certFile, keyFile, log)
}

// Config is a server configuration that always uses the newest certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}

// Fingerprint is the SHA-256 of the certificate, as openssl prints it.
func (c *Certificate) Fingerprint() string {
	sum := sha256.Sum256(c.leaf().Raw)
	text := strings.ToUpper(hex.EncodeToString(sum[:]))
	var b strings.Builder
	for i := 0; i < len(text); i += 2 {
		if i > 0 {
			b.WriteByte(':')
		}
		b.WriteString(text[i : i+2])
	}
	return b.String()
}

// Path is the file that clients may use as their root certificate.
func (c *Certificate) Path() string { return c.certFile }

// Run reloads the files when they change, until ctx ends.
func (c *Certificate) Run(ctx context.Context) error {
	return watchFiles(ctx, c.log, c.reloadIfChanged, c.certFile, c.keyFile)
}

func (c *Certificate) reloadIfChanged() {
	c.loading.Lock()
	defer c.loading.Unlock()
	now := c.stamps()
	if now == c.seen {
		return
	}
	c.seen = now
	// While an operator replaces two files one after the other they do not match: the old pair stays.
	if err := c.load(); err != nil {
		c.log.Error("the TLS certificate cannot be used; the last good one stays in force", "path", c.certFile, "err", err)
		return
	}
	c.log.Info("TLS certificate loaded", "path", c.certFile, "fingerprint", c.Fingerprint(), "expires", c.leaf().NotAfter)
}

func (c *Certificate) stamps() [2]stamp {
	var out [2]stamp
	out[0], _ = fileStamp(c.certFile)
	out[1], _ = fileStamp(c.keyFile)
	return out
}

func (c *Certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return err
		}
	}
	c.current.Store(&pair)
	return nil
}

func (c *Certificate) leaf() *x509.Certificate { return c.current.Load().Leaf }

func makeSelfSigned(dir, certFile, keyFile string, hosts []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "vega-flight"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(selfSignedLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		// Its own issuer, so that a client can name the file as its root; no authority, which rustls takes for no server's certificate.
		BasicConstraintsValid: true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if name, err := os.Hostname(); err == nil {
		t.DNSNames = append(t.DNSNames, name)
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else if h != "" {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(keyFile, "PRIVATE KEY", raw, 0o600); err != nil {
		return err
	}
	return writePEM(certFile, "CERTIFICATE", der, 0o644)
}

// writePEM replaces a file whole.
func writePEM(path, kind string, raw []byte, mode os.FileMode) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), mode); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("keep %s: %w", path, err)
	}
	return nil
}
