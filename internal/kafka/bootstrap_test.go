package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// peer listens and gives every connection to fn, which may be nil: a peer that
// accepts connections and never says anything.
func peer(t testing.TB, fn func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			if fn != nil {
				go fn(conn)
			}
		}
	}()
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			c.Close()
		}
	})
	return l.Addr().String()
}

// refused is an address on which nothing listens, and nothing can: it is that
// of a connection, which free ends. As its port was asked for, no other
// connection shares it.
func refused(t testing.TB) (addr string, free func()) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	conn, err := d.Dial("tcp", peer(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0) // the port is free at once
	t.Cleanup(func() { conn.Close() })
	return conn.LocalAddr().String(), func() { conn.Close() }
}

// noSuchHost is longer than a name may be: no name server is asked.
const noSuchHost = "no-such-host-no-such-host-no-such-host-no-such-host-no-such-host-x"

// patient are the properties of a client that would wait for an hour where it
// waits for anything; quick tells that it did.
func patient(more Properties) Properties {
	p := Properties{"default.api.timeout.ms": "3600000", "socket.connection.setup.timeout.ms": "3600000"}
	maps.Copy(p, more)
	return p
}

// quick fails when more than a minute passes until the test's end.
func quick(t testing.TB) {
	t.Helper()
	start := time.Now()
	t.Cleanup(func() {
		if d := time.Since(start); d > time.Minute {
			t.Errorf("took %s", d)
		}
	})
}

// One bootstrap server that is silent, gone or something else never matters
// while another one answers.
func TestBootstrapOneGood(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	topic(t, k, "t", 2)
	batches(t, k, "t", 3)
	good, silent := k.Addrs()[0], peer(t, nil)
	gone, _ := refused(t)
	other := peer(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n"); c.Close() })
	for _, x := range []struct {
		name   string
		addrs  []string
		passed string // the address that a warning names
	}{
		{"silent first", []string{silent, good}, silent},
		{"silent last", []string{good, silent}, ""},
		{"many silent", []string{silent, silent, silent, good}, silent},
		{"refused first", []string{gone, good}, "connection refused"},
		{"no such host", []string{noSuchHost + ":9092", good}, noSuchHost},
		{"not Kafka", []string{other, good}, other},
	} {
		t.Run(x.name, func(t *testing.T) {
			quick(t)
			for range 4 { // franz-go's own choice is random
				var warnings []string
				c, err := Open(t.Context(), Config{Bootstrap: x.addrs, Properties: patient(nil), Warn: func(s string) { warnings = append(warnings, s) }})
				if err != nil {
					t.Fatal(err)
				}
				if c.address() != good+" and others" {
					t.Errorf("address %q", c.address())
				}
				recs, _, _, err := readAll(t, c, ReadOptions{Topic: "t", To: 30})
				if err != nil {
					t.Fatal(err)
				}
				wantAll(t, recs, 0, 30)
				if _, err := c.ClusterID(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := c.Topics(t.Context()); err != nil {
					t.Error(err)
				}
				c.Close()
				if text := strings.Join(warnings, "\n"); !strings.Contains(text, x.passed) || (x.passed == "") != (text == "") {
					t.Errorf("warnings %q", warnings)
				}
				if len(x.addrs) > 2 {
					break // each silent one is given its time
				}
			}
		})
	}
}

// The bootstrap server that answered first goes away: the others are used, by
// the readers' own clients too.
func TestBootstrapWinnerGoes(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Brokers: 3})
	topic(t, k, "t", 1)
	batches(t, k, "t", 3)
	if err := k.MoveTopicPartition("t", 0, 2); err != nil {
		t.Fatal(err)
	}
	quick(t)
	c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: patient(nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	gone := slices.Index(k.Addrs(), c.set.bootstrap[0])
	if err := k.RemoveNode(int32(gone)); err != nil {
		t.Fatal(err)
	}
	recs, _, _, err := readAll(t, c, ReadOptions{Topic: "t", To: 30, StallTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, recs, 0, 30)
	if _, err := c.Topic(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
}

// Without any that answers the error names each, and comes soon.
func TestBootstrapNoneGood(t *testing.T) {
	gone, _ := refused(t)
	silent := peer(t, nil)
	for _, x := range []struct {
		name  string
		addrs []string
		want  []string
	}{
		{"refused", []string{gone}, []string{"connect to Kafka at " + gone + ": connect: connection refused", "--bootstrap-server"}},
		{"two refused", []string{gone, "127.0.0.1:1"}, []string{gone + ": connect: connection refused; 127.0.0.1:1: connect: connection refused", "--bootstrap-server"}},
		{"no such host", []string{noSuchHost + ":9092"}, []string{noSuchHost, "no such host", "host names in --bootstrap-server"}},
		{"no such host and refused", []string{noSuchHost + ":9092", gone}, []string{"no such host", gone + ": connect: connection refused"}},
		{"silent", []string{silent}, []string{"connect to Kafka at " + silent, "has not answered within 5s", "security.protocol"}},
		{"silent and refused", []string{silent, gone}, []string{silent + ": accepts", gone + ": connect: connection refused", "security.protocol"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			quick(t)
			var p Properties
			if x.name == "no such host" { // that is not waited for
				p = patient(nil)
			}
			err := tryOpen(t, x.addrs, p)
			optest.WantKind(t, err, op.Unreachable, x.want...)
			for _, a := range x.addrs {
				host, _, _ := net.SplitHostPort(a)
				if host != "127.0.0.1" {
					a = host // the resolver's error names it again
				} else if n := strings.Count(err.Error(), a); n != 1 {
					t.Errorf("%s is named %d times: %v", a, n, err)
				}
				if !strings.Contains(err.Error(), a) {
					t.Errorf("%s is not named: %v", a, err)
				}
			}
			if n := len(op.Tries(err)); n != 1 {
				t.Errorf("%d things to try", n)
			}
		})
	}
}

// A broker that comes up while Open waits is found.
func TestBootstrapStartsLate(t *testing.T) {
	addr, free := refused(t)
	var k *kafkatest.Cluster
	started := make(chan error, 1)
	time.AfterFunc(700*time.Millisecond, func() {
		var err error
		free()
		k, err = kafkatest.Start(kafkatest.Options{Listen: addr})
		started <- err
	})
	err := tryOpen(t, []string{addr}, Properties{"default.api.timeout.ms": "60000"})
	if e := <-started; e != nil {
		t.Fatal(e)
	}
	defer k.Close()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBootstrapCancel(t *testing.T) {
	quick(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, Config{Bootstrap: []string{peer(t, nil)}, Properties: patient(nil)})
	optest.WantKind(t, err, op.Unreachable, "no answer yet")
	ctx, cancel2 := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel2)
	gone, _ := refused(t)
	_, err = Open(ctx, Config{Bootstrap: []string{peer(t, nil), gone}, Properties: patient(nil)})
	optest.WantKind(t, err, op.Declined, "connect to Kafka")
}

func selfSigned(t testing.TB) (key, chain string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	block := func(typ string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der}))
	}
	return block("PRIVATE KEY", der), block("CERTIFICATE", cert)
}

// The security settings of the client and of the port do not fit.
func TestWrongSecurity(t *testing.T) {
	const dir = "testdata/stores/"
	plain := startCluster(t, kafkatest.Options{}).Addrs()[0]
	secure := startCluster(t, kafkatest.Options{TLS: serverTLS(t, "server", tls.NoClientCert)}).Addrs()[0]
	mutual := startCluster(t, kafkatest.Options{TLS: serverTLS(t, "server", tls.RequireAndVerifyClientCert)}).Addrs()[0]
	old := serverTLS(t, "server", tls.RequireAndVerifyClientCert)
	old.MaxVersion = tls.VersionTLS12
	mutual12 := startCluster(t, kafkatest.Options{TLS: old}).Addrs()[0]
	users := startCluster(t, kafkatest.Options{Users: []kafkatest.User{{Mechanism: "PLAIN", Name: "alice", Password: "right"}}}).Addrs()[0]
	// What a Java broker does with a request on its TLS port, and with a TLS
	// client on its plaintext port.
	read := func(c net.Conn) { c.Read(make([]byte, 5)) }
	alerts := peer(t, func(c net.Conn) { c.Read(make([]byte, 1<<16)); c.Write([]byte{21, 3, 3, 0, 2, 2, 80}); c.Close() })
	hangsUp := peer(t, func(c net.Conn) { io.ReadAtLeast(c, make([]byte, 1<<16), 30); c.Close() })
	resets := peer(t, func(c net.Conn) { read(c); c.(*net.TCPConn).SetLinger(0); c.Close() })

	ssl := Properties{"security.protocol": "SSL", "ssl.truststore.location": dir + "ca.pem", "ssl.truststore.type": "PEM"}
	key, chain := selfSigned(t)
	foreign := with(ssl, "ssl.keystore.type", "PEM", "ssl.keystore.key", key, "ssl.keystore.certificate.chain", chain)
	login := func(mech, module, password string) Properties {
		return Properties{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mech,
			"sasl.jaas.config": "x." + module + ` required username="alice" password="` + password + `";`}
	}
	for _, x := range []struct {
		name, addr string
		p          Properties
		want, try  string
	}{
		{"TLS to plaintext", plain, ssl, "no answer to the TLS handshake within 5s", "security.protocol"},
		{"TLS to what hangs up", hangsUp, ssl, "TLS handshake", "security.protocol"},
		{"TLS to what resets", resets, ssl, "TLS handshake", "security.protocol"},
		{"TLS to what is silent", peer(t, nil), ssl, "no answer to the TLS handshake within 5s", "security.protocol"},
		{"plaintext to TLS", secure, Properties{}, "closed the connection", "security.protocol"},
		{"plaintext to TLS that alerts", alerts, Properties{}, "TLS alert", "security.protocol to SSL or SASL_SSL"},
		{"plaintext to SMTP", peer(t, func(c net.Conn) { io.WriteString(c, "220 mail ESMTP ready\r\n") }), Properties{}, "does not answer in Kafka's protocol", "check the port"},
		{"plaintext to what resets", resets, Properties{}, "connection reset", "security.protocol"},
		{"no SASL to SASL", users, Properties{}, "closed the connection", "TLS or SASL: check security.protocol"},
		{"SASL to none", plain, login("PLAIN", "PlainLoginModule", "right"), "", "security.protocol"},
		{"mechanism", users, login("SCRAM-SHA-512", "ScramLoginModule", "right"), "", "sasl.mechanism"},
		{"password", users, login("PLAIN", "PlainLoginModule", "hunter2"), "closed the connection", "password"},
		{"no client certificate", mutual, ssl, "certificate required", "ssl.keystore.location"},
		{"no client certificate, TLS 1.2", mutual12, ssl, "remote error: tls: ", "wants a client certificate: set ssl.keystore.location"},
		{"a certificate of nobody's", mutual, foreign, "remote error: tls: unknown certificate authority", "trusts the authority of the one in ssl.keystore.location"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			quick(t)
			waits := strings.HasSuffix(x.want, "within 5s")
			if !waits {
				x.p = patient(x.p)
			}
			err := tryOpen(t, []string{x.addr}, x.p)
			for range 3 { // a machine that stands still just then hides the connection's timeout behind that of the probe
				if waits && strings.Contains(err.Error(), "has not answered within 5s") {
					err = tryOpen(t, []string{x.addr}, x.p)
				}
			}
			optest.WantKind(t, err, op.Unreachable, "connect to Kafka at "+x.addr, x.want)
			tries := strings.Join(op.Tries(err), "\n")
			if !strings.Contains(tries, x.try) {
				t.Errorf("%v\ntry: %q, which does not say %q", err, tries, x.try)
			}
			if s := err.Error() + tries; strings.Contains(s, "hunter2") || strings.Count(s, x.addr) != 1 {
				t.Error(s)
			}
		})
	}
}

// A refused mechanism is named, and a refused login is not tried elsewhere:
// that would lock the user out.
func TestLoginRefused(t *testing.T) {
	k := startCluster(t, kafkatest.Options{Brokers: 3, Users: []kafkatest.User{{Mechanism: "PLAIN", Name: "alice", Password: "right"}}})
	p := Properties{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": `x.PlainLoginModule required username="alice" password="hunter2";`}
	var mu sync.Mutex
	logins := 0
	k.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		mu.Lock()
		logins++
		mu.Unlock()
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		resp.ErrorMessage = kmsg.StringPtr("Invalid username or password")
		return resp, nil, true
	})
	err := tryOpen(t, k.Addrs(), p)
	optest.WantKind(t, err, op.Unreachable, ": SASL_AUTHENTICATION_FAILED: Invalid username or password\n", "check username and password")
	if logins != 1 || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%d logins, %v", logins, err)
	}
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLHandshake}, TopLevel: true, Err: kerr.UnsupportedSaslMechanism, Count: -1})
	err = tryOpen(t, k.Addrs()[:1], p)
	optest.WantKind(t, err, op.Unreachable, "does not offer sasl.mechanism PLAIN")
}

// A broker that falls silent later does not hold up what any broker can tell.
func TestMetadataPassesASilentBroker(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{Brokers: 3})
	topic(t, k, "t", 1)
	c, err := Open(t.Context(), Config{Bootstrap: k.Addrs(), Properties: Properties{"default.api.timeout.ms": "3600000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Topic(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	ignored := 0
	k.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		ignored++
		return nil, nil, ignored <= 1
	})
	quick(t)
	if _, err := c.Topic(t.Context(), "t"); err != nil || ignored < 2 {
		t.Fatal(ignored, err)
	}
}

// A cluster that names addresses which cannot be reached from here.
func TestAdvertisedAddress(t *testing.T) {
	addr, _ := refused(t)
	c := &Client{cfg: Config{}, set: settings{bootstrap: []string{"127.0.0.1:1"}}}
	_, dialErr := net.Dial("tcp", addr)
	err := c.explain(errors.Join(dialErr), "list the offsets", nil)
	optest.WantKind(t, err, op.Unreachable, addr, "advertised.listeners")
	c.set.bootstrap = []string{addr}
	err = c.explain(dialErr, "list the offsets", nil)
	if tries := op.Tries(err); len(tries) != 1 || strings.Contains(tries[0], "advertised") {
		t.Error(tries)
	}
}

func TestReadEventText(t *testing.T) {
	e := ReadEvent{Kind: ReadRetry, Topic: "orders-changelog", Partition: 3, Position: 42, Message: "fetch failed", Err: io.EOF}
	got := []string{e.String(), e.Text()}
	e.Err = nil
	got = append(got, e.String(), e.Text())
	if want := []string{"orders-changelog-3 at offset 42: fetch failed: EOF", "at offset 42: fetch failed: EOF",
		"orders-changelog-3 at offset 42: fetch failed", "at offset 42: fetch failed"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
