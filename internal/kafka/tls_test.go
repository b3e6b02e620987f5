package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
)

func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/stores/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// serverTLS is a broker's side: its certificate, and the CA for its clients.
func serverTLS(t testing.TB, name string, clients tls.ClientAuthType) *tls.Config {
	t.Helper()
	cert, err := tls.X509KeyPair([]byte(file(t, name+".pem")), []byte(file(t, name+"-key.pem")))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(file(t, "ca.pem")))
	return &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: clients, ClientCAs: pool}
}

// tryOpen opens a client and asks it something.
func tryOpen(t testing.TB, addrs []string, p Properties) error {
	t.Helper()
	c, err := Open(t.Context(), Config{Bootstrap: addrs, Properties: p})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Topics(t.Context())
	return err
}

func with(p Properties, kv ...string) Properties {
	out := Properties{}
	for k, v := range p {
		out[k] = v
	}
	for i := 0; i < len(kv); i += 2 {
		out[kv[i]] = kv[i+1]
	}
	return out
}

func TestTrustStores(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Extra: nil, TLS: serverTLS(t, "server", tls.NoClientCert)})
	ssl := Properties{"security.protocol": "SSL"}
	const dir = "testdata/stores/"
	for _, x := range []struct {
		name string
		p    Properties
		want string // "" means it works
	}{
		{"jks", with(ssl, "ssl.truststore.location", dir+"trust.jks", "ssl.truststore.password", "changeit"), ""},
		{"jks without password", with(ssl, "ssl.truststore.location", dir+"trust.jks"), ""},
		{"jks, wrong password", with(ssl, "ssl.truststore.location", dir+"trust.jks", "ssl.truststore.password", "hunter2"), "password is wrong"},
		{"pkcs12", with(ssl, "ssl.truststore.location", dir+"trust.p12", "ssl.truststore.password", "changeit", "ssl.truststore.type", "PKCS12"), ""},
		{"pkcs12 under the default type", with(ssl, "ssl.truststore.location", dir+"trust.p12", "ssl.truststore.password", "changeit"), ""},
		{"pkcs12 of openssl", with(ssl, "ssl.truststore.location", dir+"trust-openssl.p12", "ssl.truststore.password", "changeit", "ssl.truststore.type", "PKCS12"), "keytool -importcert"},
		{"pkcs12, wrong password", with(ssl, "ssl.truststore.location", dir+"trust.p12", "ssl.truststore.password", "hunter2"), "password is wrong"},
		{"pem file", with(ssl, "ssl.truststore.location", dir+"ca.pem", "ssl.truststore.type", "PEM"), ""},
		{"pem inline", with(ssl, "ssl.truststore.certificates", file(t, "ca.pem"), "ssl.truststore.type", "PEM"), ""},
		{"pem inline on one line", with(ssl, "ssl.truststore.certificates", strings.ReplaceAll(file(t, "ca.pem"), "\n", " "), "ssl.truststore.type", "PEM"), ""},
		{"pem inline without type", with(ssl, "ssl.truststore.certificates", file(t, "ca.pem")), "ssl.truststore.type=PEM"},
		{"no store: the system's roots", ssl, "unknown authority"},
		{"another CA", with(ssl, "ssl.truststore.location", dir+"client.pem", "ssl.truststore.type", "PEM"), "unknown authority"},
		{"missing file", with(ssl, "ssl.truststore.location", dir+"nothing.jks"), "no such file"},
		{"not a store", with(ssl, "ssl.truststore.location", dir+"make.sh"), "PKCS12"},
		{"type", with(ssl, "ssl.truststore.location", dir+"ca.pem", "ssl.truststore.type", "BCFKS"), "none of JKS, PKCS12, PEM"},
		{"only TLS 1.2", with(ssl, "ssl.truststore.location", dir+"trust.jks", "ssl.enabled.protocols", "TLSv1.2"), ""},
		{"TLS version", with(ssl, "ssl.enabled.protocols", "SSLv3"), "unknown version"},
		{"plaintext to a TLS listener", Properties{}, "security.protocol"},
	} {
		t.Run(x.name, func(t *testing.T) {
			err := tryOpen(t, k.Addrs(), x.p)
			if x.want == "" {
				if err != nil {
					t.Fatal(err, op.Tries(err))
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			text := err.Error() + strings.Join(op.Tries(err), " ")
			if !strings.Contains(text, x.want) || strings.Contains(text, "hunter2") {
				t.Fatal(text)
			}
		})
	}
}

func TestHostNames(t *testing.T) {
	ca := Properties{"security.protocol": "SSL", "ssl.truststore.location": "testdata/stores/ca.pem", "ssl.truststore.type": "PEM"}
	for _, x := range []struct {
		cert, host string
		off, ok    bool
	}{
		{"server", "127.0.0.1", false, true},
		{"server", "localhost", false, true},
		{"other", "127.0.0.1", false, false},
		{"other", "localhost", false, false},
		{"other", "127.0.0.1", true, true},
		{"cnonly", "127.0.0.1", false, false}, // an address is never matched by the common name
		{"cnonly", "localhost", false, true},
		{"client", "localhost", true, false}, // a client's certificate is no server's
	} {
		k := startCluster(t, kafkatest.Options{TLS: serverTLS(t, x.cert, tls.NoClientCert)})
		p := ca
		if x.off {
			p = with(p, "ssl.endpoint.identification.algorithm", "")
		}
		client, _, err := Config{Properties: p}.security(&settings{})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := tls.Dial("tcp", k.Addrs()[0], client.config(x.host))
		if (err == nil) != x.ok {
			t.Errorf("certificate %s, host %s, check off %v: %v", x.cert, x.host, x.off, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

func TestKeyStores(t *testing.T) {
	k := startCluster(t, kafkatest.Options{TLS: serverTLS(t, "server", tls.RequestClientCert)})
	strict := serverTLS(t, "server", tls.RequireAndVerifyClientCert)
	const dir = "testdata/stores/"
	ca := Properties{"security.protocol": "ssl", "ssl.truststore.location": dir + "ca.pem", "ssl.truststore.type": "PEM"}
	loc := func(f, typ string, kv ...string) Properties {
		return with(with(ca, "ssl.keystore.location", dir+f, "ssl.keystore.type", typ), kv...)
	}
	inline := func(f string, kv ...string) Properties {
		return with(with(ca, "ssl.keystore.type", "PEM", "ssl.keystore.key", file(t, f), "ssl.keystore.certificate.chain", file(t, "client.pem")), kv...)
	}
	for _, x := range []struct {
		name string
		p    Properties
		want string
	}{
		{"none", ca, "certificate required"},
		{"jks", loc("key.jks", "JKS", "ssl.keystore.password", "changeit", "ssl.key.password", "keypass1"), ""},
		{"jks, wrong key password", loc("key.jks", "JKS", "ssl.keystore.password", "changeit", "ssl.key.password", "hunter2"), "ssl.key.password"},
		{"jks, no key password", loc("key.jks", "JKS", "ssl.keystore.password", "changeit"), "ssl.key.password"},
		{"jks, wrong store password", loc("key.jks", "JKS", "ssl.keystore.password", "hunter2"), "password is wrong"},
		{"jks without a key", loc("trust.jks", "JKS", "ssl.keystore.password", "changeit"), "no private key"},
		{"pkcs12", loc("key.p12", "PKCS12", "ssl.keystore.password", "changeit"), ""},
		{"pkcs12 of openssl", loc("key-openssl.p12", "PKCS12", "ssl.keystore.password", "changeit"), ""},
		{"pkcs12, wrong password", loc("key.p12", "PKCS12", "ssl.keystore.password", "hunter2"), "password is wrong"},
		{"pem file", loc("client-all.pem", "PEM", "ssl.key.password", "keypass1"), ""},
		{"pem file, no password", loc("client-all.pem", "PEM"), "ssl.key.password is not set"},
		{"pem", inline("client-pk8.pem"), ""},
		{"pem, encrypted", inline("client-enc.pem", "ssl.key.password", "keypass1"), ""},
		{"pem, encrypted by 3DES", inline("client-3des.pem", "ssl.key.password", "keypass1"), ""},
		{"pem, wrong password", inline("client-enc.pem", "ssl.key.password", "hunter2"), "ssl.key.password right"},
		{"pem, PBES1", inline("client-pbes1.pem", "ssl.key.password", "keypass1"), "openssl pkcs8"},
		{"pem, old encryption", inline("client-old.pem", "ssl.key.password", "keypass1"), "openssl pkcs8"},
		{"pem without key", with(ca, "ssl.keystore.type", "PEM", "ssl.keystore.certificate.chain", file(t, "client.pem")), "needed together"},
	} {
		t.Run(x.name, func(t *testing.T) {
			err := handshake(t, strict, k, x.p)
			if x.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := tryOpen(t, k.Addrs(), x.p); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "hunter2") {
				t.Fatal(err)
			}
		})
	}
}

// handshake runs the client's configuration against a server that insists on
// a client certificate.
func handshake(t testing.TB, server *tls.Config, k *kafkatest.Cluster, p Properties) error {
	t.Helper()
	client, _, err := Config{Properties: p}.security(&settings{})
	if err != nil {
		return err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	result := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		result <- err
	}()
	conn, err := tls.Dial("tcp", l.Addr().String(), client.config("localhost"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{1}); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1)) // TLS 1.3 tells a client only now
	if serverErr := <-result; serverErr != nil {
		return err
	}
	return nil
}
