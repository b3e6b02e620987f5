package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/sasl"
)

// tlsClient is the client's side of a TLS connection.
type tlsClient struct {
	base      *tls.Config
	roots     *x509.CertPool // nil: the system's
	checkHost bool
}

// config is the configuration for a connection to host.
func (t *tlsClient) config(host string) *tls.Config {
	conf := t.base.Clone()
	conf.ServerName = host
	// Go's own verification is replaced by the same one with Java's two
	// differences: the host name check can be turned off, and a certificate
	// without alternative names is matched by its common name.
	conf.InsecureSkipVerify = true
	conf.VerifyConnection = func(cs tls.ConnectionState) error { return t.verify(cs, host) }
	return conf
}

// security makes the TLS configuration and the SASL mechanism; nil where
// security.protocol asks for none.
func (c Config) security(set *settings) (*tlsClient, sasl.Mechanism, error) {
	withTLS, withSASL, err := c.protocol()
	if err != nil {
		return nil, nil, err
	}
	var conf *tlsClient
	var mech sasl.Mechanism
	if withTLS {
		if conf, err = c.tlsConfig(); err != nil {
			return nil, nil, err
		}
	}
	if withSASL {
		if mech, set.user, err = c.Properties.mechanism(); err != nil {
			return nil, nil, err
		}
	}
	return conf, mech, nil
}

func (c Config) tlsConfig() (*tlsClient, error) {
	p := c.Properties
	roots, err := p.trustStore()
	if err != nil {
		return nil, err
	}
	cert, err := p.keyStore()
	if err != nil {
		return nil, err
	}
	checkHost := true
	if v, set := p["ssl.endpoint.identification.algorithm"]; set {
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "https":
		case "":
			checkHost = false
		default:
			return nil, op.Errorf(op.Usage, "client property ssl.endpoint.identification.algorithm: %q is neither https nor empty", v)
		}
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	if err := p.tlsVersions(conf); err != nil {
		return nil, err
	}
	if cert != nil {
		// Always offered: the broker decides whether it accepts it.
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return &tlsClient{base: conf, roots: roots, checkHost: checkHost}, nil
}

// tlsVersions applies ssl.enabled.protocols.
func (p Properties) tlsVersions(conf *tls.Config) error {
	lo, hi := uint16(0), uint16(0)
	for _, v := range splitList(p["ssl.enabled.protocols"]) {
		n := map[string]uint16{"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}[v]
		if n == 0 {
			return op.Errorf(op.Usage, "client property ssl.enabled.protocols: unknown version %q", v)
		}
		if lo == 0 || n < lo {
			lo = n
		}
		hi = max(hi, n)
	}
	if lo != 0 {
		conf.MinVersion, conf.MaxVersion = lo, hi
	}
	return nil
}

// verify checks the broker's certificate: chain, validity and, unless turned
// off, its name.
func (t *tlsClient) verify(cs tls.ConnectionState, host string) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("the broker sent no certificate")
	}
	leaf := cs.PeerCertificates[0]
	opts := x509.VerifyOptions{Roots: t.roots, Intermediates: x509.NewCertPool()}
	for _, cert := range cs.PeerCertificates[1:] {
		opts.Intermediates.AddCert(cert)
	}
	if _, err := leaf.Verify(opts); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: cs.PeerCertificates, Err: err}
	}
	if !t.checkHost {
		return nil
	}
	err := leaf.VerifyHostname(host)
	if err == nil {
		return nil
	}
	if len(leaf.DNSNames)+len(leaf.IPAddresses) == 0 && leaf.Subject.CommonName != "" && net.ParseIP(host) == nil {
		byName := *leaf
		byName.DNSNames = []string{leaf.Subject.CommonName}
		if byName.VerifyHostname(host) == nil {
			return nil
		}
	}
	return &tls.CertificateVerificationError{UnverifiedCertificates: cs.PeerCertificates, Err: err}
}

func storeErr(key string, format string, args ...any) error {
	return &op.Error{Kind: op.Usage, What: "client property " + key, Err: fmt.Errorf(format, args...)}
}
