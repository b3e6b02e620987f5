package kafka

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

// trustStore reads ssl.truststore.*; nil means the system's own roots.
func (p Properties) trustStore() (*x509.CertPool, error) {
	const certsKey, fileKey = "ssl.truststore.certificates", "ssl.truststore.location"
	typ, err := p.storeType("ssl.truststore.type")
	if err != nil {
		return nil, err
	}
	inline, file := p[certsKey], strings.TrimSpace(p[fileKey])
	password, hasPassword := p["ssl.truststore.password"]
	var certs []*x509.Certificate
	key := fileKey
	switch {
	case inline != "":
		if key = certsKey; typ != "PEM" {
			return nil, storeErr(key, "needs ssl.truststore.type=PEM")
		}
		if file != "" {
			return nil, storeErr(key, "and ssl.truststore.location exclude each other")
		}
		certs, err = pemCertificates([]byte(inline))
	case file == "":
		return nil, nil
	default:
		raw, e := os.ReadFile(file)
		if e != nil {
			return nil, storeErr(key, "%w", e)
		}
		switch format := storeFormat(raw); {
		case typ == "PEM" || format == "PEM":
			certs, err = pemCertificates(raw)
		case format == "JKS":
			certs, err = jksTrusted(raw, password, hasPassword)
		default:
			certs, err = pkcs12Trusted(raw, password)
		}
	}
	if err != nil {
		return nil, storeErr(key, "%w", err)
	}
	if len(certs) == 0 {
		return nil, storeErr(key, "holds no trusted certificate")
	}
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool, nil
}

// keyStore reads ssl.keystore.*; nil means no client certificate.
func (p Properties) keyStore() (*tls.Certificate, error) {
	const keyKey, chainKey, fileKey = "ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.keystore.location"
	typ, err := p.storeType("ssl.keystore.type")
	if err != nil {
		return nil, err
	}
	file := strings.TrimSpace(p[fileKey])
	keyPassword, hasKeyPassword := p["ssl.key.password"]
	var cert *tls.Certificate
	key := fileKey
	switch {
	case p[keyKey] != "" || p[chainKey] != "":
		if key = keyKey; typ != "PEM" {
			return nil, storeErr(key, "needs ssl.keystore.type=PEM")
		}
		if p[keyKey] == "" || p[chainKey] == "" {
			return nil, storeErr(key, "and ssl.keystore.certificate.chain are needed together")
		}
		cert, err = pemKeyPair([]byte(p[keyKey]), []byte(p[chainKey]), keyPassword)
	case file == "":
		return nil, nil
	default:
		raw, e := os.ReadFile(file)
		if e != nil {
			return nil, storeErr(key, "%w", e)
		}
		password := p["ssl.keystore.password"]
		if !hasKeyPassword {
			keyPassword = password
		}
		switch format := storeFormat(raw); {
		case typ == "PEM" || format == "PEM":
			cert, err = pemKeyPair(raw, raw, keyPassword)
		case format == "JKS":
			cert, err = jksKeyPair(raw, password, keyPassword)
		default:
			cert, err = pkcs12KeyPair(raw, password)
		}
	}
	if err != nil {
		return nil, storeErr(key, "%w", err)
	}
	return cert, nil
}

func (p Properties) storeType(key string) (string, error) {
	switch typ := strings.ToUpper(strings.TrimSpace(p[key])); typ {
	case "", "JKS":
		return "JKS", nil
	case "PKCS12", "PEM":
		return typ, nil
	default:
		return "", storeErr(key, "%q is none of JKS, PKCS12, PEM", p[key])
	}
}

const jksMagic = 0xFEEDFEED

// storeFormat looks at the content: since Java 9 a store of type JKS may be
// PKCS12 and the other way round (keystore.type.compat).
func storeFormat(raw []byte) string {
	switch {
	case len(raw) >= 4 && binary.BigEndian.Uint32(raw) == jksMagic:
		return "JKS"
	case bytes.Contains(raw, []byte("-----BEGIN ")):
		return "PEM"
	}
	return "PKCS12"
}

// loadJKS hides that the library's error for a wrong password is a digest.
func loadJKS(raw []byte, password string) (ks keystore.KeyStore, err error) {
	ks = keystore.New(keystore.WithOrderedAliases(), keystore.WithCaseExactAliases())
	if err = ks.Load(bytes.NewReader(raw), []byte(password)); err != nil {
		err = fmt.Errorf("not a readable JKS store, or the password is wrong: %w", err)
	}
	return ks, err
}

func jksTrusted(raw []byte, password string, hasPassword bool) ([]*x509.Certificate, error) {
	if !hasPassword {
		return jksTrustedUnchecked(raw) // Java: without a password, no integrity check
	}
	ks, err := loadJKS(raw, password)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for _, alias := range ks.Aliases() {
		if !ks.IsTrustedCertificateEntry(alias) {
			continue
		}
		e, err := ks.GetTrustedCertificateEntry(alias)
		if err != nil {
			return nil, err
		}
		c, err := x509.ParseCertificate(e.Certificate.Content)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// jksTrustedUnchecked reads the trusted certificates of a JKS store without
// its password (sun.security.provider.JavaKeyStore): magic, version, count,
// then entries of tag 2: alias, date, type, certificate.
func jksTrustedUnchecked(raw []byte) ([]*x509.Certificate, error) {
	errShort := errors.New("the JKS store is cut off")
	at, bad := 4, false
	take := func(n int) []byte {
		if bad || n < 0 || n > len(raw)-at {
			bad = true
			return make([]byte, 8)
		}
		at += n
		return raw[at-n : at]
	}
	u32 := func() int { return int(binary.BigEndian.Uint32(take(4))) }
	utf := func() { take(int(binary.BigEndian.Uint16(take(2)))) }
	if v := u32(); v != 2 && !bad {
		return nil, fmt.Errorf("JKS version %d needs ssl.truststore.password", v)
	}
	var out []*x509.Certificate
	for n := u32(); n > 0 && !bad; n-- {
		tag := u32()
		utf()   // alias
		take(8) // date
		certs := 1
		if tag == 1 {
			take(u32()) // private key
			certs = u32()
		}
		for ; certs > 0 && !bad; certs-- {
			utf() // type
			der := take(u32())
			if tag != 2 || bad {
				continue
			}
			c, err := x509.ParseCertificate(der)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	if bad {
		return nil, errShort
	}
	return out, nil
}

func jksKeyPair(raw []byte, password, keyPassword string) (*tls.Certificate, error) {
	ks, err := loadJKS(raw, password)
	if err != nil {
		return nil, err
	}
	for _, alias := range ks.Aliases() {
		if !ks.IsPrivateKeyEntry(alias) {
			continue
		}
		e, err := ks.GetPrivateKeyEntry(alias, []byte(keyPassword))
		if err != nil {
			return nil, errors.New("the private key cannot be decrypted: is ssl.key.password right?")
		}
		key, err := parseKey(e.PrivateKey)
		if err != nil {
			return nil, err
		}
		cert := &tls.Certificate{PrivateKey: key}
		for _, c := range e.CertificateChain {
			cert.Certificate = append(cert.Certificate, c.Content)
		}
		return cert, nil
	}
	return nil, errors.New("holds no private key")
}

func pkcs12Err(err error) error {
	if errors.Is(err, pkcs12.ErrIncorrectPassword) {
		return errors.New("the password is wrong or missing")
	}
	return fmt.Errorf("not a readable PKCS12 store: %w", err)
}

// pkcs12Trusted takes the certificates that are marked as trusted, as Java does.
func pkcs12Trusted(raw []byte, password string) ([]*x509.Certificate, error) {
	certs, err := pkcs12.DecodeTrustStore(raw, password)
	if err != nil && strings.Contains(err.Error(), "not marked as trusted") {
		return nil, errors.New("its certificates are not marked as trusted, so Java ignores them too: import them with keytool -importcert")
	}
	if err != nil {
		return nil, pkcs12Err(err)
	}
	return certs, nil
}

func pkcs12KeyPair(raw []byte, password string) (*tls.Certificate, error) {
	key, leaf, cas, err := pkcs12.DecodeChain(raw, password)
	if err != nil {
		return nil, pkcs12Err(err)
	}
	cert := &tls.Certificate{PrivateKey: key, Leaf: leaf, Certificate: [][]byte{leaf.Raw}}
	for _, c := range cas {
		cert.Certificate = append(cert.Certificate, c.Raw)
	}
	return cert, nil
}
