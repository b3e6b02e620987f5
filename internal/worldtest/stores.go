package worldtest

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// Passwords of the key and trust stores. JKS keys have one of their own.
const (
	storePassword = "store-secret"
	keyPassword   = "key-secret"
)

// stores are key and trust stores as keytool makes them, in all formats:
//
//	<name>.p12 .jks .pem   for each identity: broker, client, stranger
//	trust.p12 .jks .pem    the certificate of the authority
//
// The stranger's certificate is for another host.
type stores struct{ dir string }

func (s stores) path(name string) string { return filepath.Join(s.dir, name) }

// makeStores makes the stores once and keeps them in the cache.
func makeStores() (stores, error) {
	cache, err := cacheDir()
	if err != nil {
		return stores{}, err
	}
	s := stores{filepath.Join(cache, "stores-2")}
	unlock, err := lock(s.dir + ".lock")
	if err != nil {
		return stores{}, err
	}
	defer unlock()
	if _, err := os.Stat(s.path("done")); err == nil {
		return s, nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return stores{}, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return stores{}, err
	}
	if err := s.make(); err != nil {
		return stores{}, err
	}
	return s, os.WriteFile(s.path("done"), nil, 0o600)
}

func (s stores) make() error {
	err := s.keytool("ca.p12", "-genkeypair", "-alias", "ca", "-dname", "CN=sstool test authority",
		"-keyalg", "EC", "-validity", "7300", "-ext", "bc:c")
	if err != nil {
		return err
	}
	if err := s.keytool("ca.p12", "-exportcert", "-alias", "ca", "-rfc", "-file", s.path("trust.pem")); err != nil {
		return err
	}
	for _, name := range []string{"trust.p12", "trust.jks"} {
		if err := s.keytool(name, "-importcert", "-noprompt", "-alias", "ca", "-file", s.path("trust.pem")); err != nil {
			return err
		}
	}
	for name, host := range map[string]string{
		"broker": "san=ip:127.0.0.1,dns:localhost", "client": "san=dns:client.test", "stranger": "san=dns:elsewhere.test",
	} {
		if err := s.identity(name, host); err != nil {
			return fmt.Errorf("certificate of %s: %w", name, err)
		}
	}
	return nil
}

// identity makes a key and a certificate signed by the authority.
func (s stores) identity(name, san string) error {
	p12, request, cert := name+".p12", s.path(name+".csr"), s.path(name+".crt")
	for _, step := range []struct {
		store string
		args  []string
	}{
		{p12, []string{"-genkeypair", "-alias", name, "-dname", "CN=" + name, "-keyalg", "RSA", "-validity", "7300"}},
		{p12, []string{"-certreq", "-alias", name, "-file", request}},
		{"ca.p12", []string{"-gencert", "-alias", "ca", "-infile", request, "-outfile", cert, "-rfc", "-validity", "7300", "-ext", san}},
		{p12, []string{"-importcert", "-noprompt", "-alias", "ca", "-file", s.path("trust.pem")}},
		{p12, []string{"-importcert", "-noprompt", "-alias", name, "-file", cert}},
	} {
		if err := s.keytool(step.store, step.args...); err != nil {
			return err
		}
	}
	err := runKeytool("-importkeystore", "-noprompt", "-srckeystore", s.path(p12), "-srcstorepass", storePassword,
		"-srcalias", name, "-destkeystore", s.path(name+".jks"), "-deststoretype", "JKS",
		"-deststorepass", storePassword, "-destkeypass", keyPassword)
	if err != nil {
		return err
	}
	return s.writePEM(name)
}

// writePEM takes the key out of the PKCS12 store: keytool cannot.
func (s stores) writePEM(name string) error {
	content, err := os.ReadFile(s.path(name + ".p12"))
	if err != nil {
		return err
	}
	key, leaf, chain, err := pkcs12.DecodeChain(content, storePassword)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	out := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	// One file, key first, then the chain, each certificate once: what Kafka wants of a PEM key store. The PKCS12
	// store has the authority twice, as end of the chain and as trusted certificate.
	certs := []*x509.Certificate{leaf}
	for _, c := range chain {
		if !slices.ContainsFunc(certs, c.Equal) {
			certs = append(certs, c)
		}
	}
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return os.WriteFile(s.path(name+".pem"), out, 0o600)
}

// keytool works on one of the stores; the suffix is its type.
func (s stores) keytool(store string, args ...string) error {
	kind := "PKCS12"
	if strings.HasSuffix(store, ".jks") {
		kind = "JKS"
	}
	return runKeytool(append(args, "-keystore", s.path(store), "-storetype", kind, "-storepass", storePassword)...)
}

func runKeytool(args ...string) error {
	cmd := exec.Command("keytool", append(args, "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("keytool %s: %w\n%s", args[0], err, out)
	}
	return nil
}
