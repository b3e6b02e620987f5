package worldtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// SecureBroker is a broker that listens in all the ways sstool supports, with
// an authorizer.
type SecureBroker struct {
	*Broker
	Clients []SecureClient
}

// SecureClient is one way to connect.
type SecureClient struct {
	Name string
	File string // Java client properties, bootstrap.servers included
	// May is what the broker lets this client do: "read", "describe", or
	// "nothing", when the connection itself must fail.
	May     string
	Secrets []string // must never be shown
}

// Client returns the client of that name; it panics when there is none.
func (b *SecureBroker) Client(name string) SecureClient {
	for _, c := range b.Clients {
		if c.Name == name {
			return c
		}
	}
	panic("worldtest: no client " + name)
}

// Listeners of a secure broker. The clear-text one is for the broker itself
// and for filling topics: whoever comes that way may do everything.
const (
	sslListener      = "ONEWAY"
	mutualListener   = "MUTUAL"
	strangerListener = "STRANGER" // its certificate is for another host
	saslListener     = "LOGIN"
	saslSSLListener  = "LOGINTLS"
)

// Users: the reader may read everything, the limited one only describe.
const (
	readerUser, readerPassword   = "reader", "reader \"secret\"; 1"
	limitedUser, limitedPassword = "limited", "limited-secret"
)

// StartSecureBroker starts a broker with TLS, SASL and ACLs that ends with the
// test.
func StartSecureBroker(t testing.TB, o Options) *SecureBroker {
	t.Helper()
	ctx := context.Background()
	s, err := makeStores()
	if err != nil {
		t.Fatal(err)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	config := secureConfig(s)
	maps.Copy(config, o.Config)
	o.Config = config
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		o.Format = append(o.Format, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, limitedUser, limitedPassword))
	}
	broker, err := newBroker(ctx, o, []listener{
		{plaintext, "PLAINTEXT"}, {sslListener, "SSL"}, {mutualListener, "SSL"}, {strangerListener, "SSL"},
		{saslListener, "SASL_PLAINTEXT"}, {saslSSLListener, "SASL_SSL"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("broker log:\n%s", tail(broker.Log(), 4<<10))
		}
		broker.Kill()
	})
	b := &SecureBroker{Broker: broker}
	if err := b.grant(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.writeClients(s); err != nil {
		t.Fatal(err)
	}
	return b
}

func secureConfig(s stores) map[string]string {
	config := map[string]string{
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":           "User:ANONYMOUS",
	}
	for listener, identity := range map[string]string{
		sslListener: "broker", mutualListener: "broker", saslSSLListener: "broker", strangerListener: "stranger",
	} {
		set := func(key, value string) { config["listener.name."+strings.ToLower(listener)+".ssl."+key] = value }
		set("keystore.location", s.path(identity+".p12"))
		set("keystore.type", "PKCS12")
		set("keystore.password", storePassword)
		set("key.password", storePassword)
		set("truststore.location", s.path("trust.p12"))
		set("truststore.type", "PKCS12")
		set("truststore.password", storePassword)
		if listener == mutualListener {
			set("client.auth", "required")
		}
	}
	for _, listener := range []string{saslListener, saslSSLListener} {
		set := func(key, value string) { config["listener.name."+strings.ToLower(listener)+"."+key] = value }
		set("sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512")
		set("plain.sasl.jaas.config", fmt.Sprintf("%s required user_%s=%s user_%s=%s;", plainModule,
			readerUser, quoteJAAS(readerPassword), limitedUser, quoteJAAS(limitedPassword)))
		set("scram-sha-256.sasl.jaas.config", scramModule+" required;")
		set("scram-sha-512.sasl.jaas.config", scramModule+" required;")
	}
	for key, value := range config {
		config[key] = escapeProperty(value)
	}
	return config
}

const (
	plainModule = "org.apache.kafka.common.security.plain.PlainLoginModule"
	scramModule = "org.apache.kafka.common.security.scram.ScramLoginModule"
)

// grant gives the users their rights, and the reader its SCRAM passwords: the
// format command cannot take one with a quote.
func (b *SecureBroker) grant(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Bootstrap))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		result, err := admin.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{
			User: readerUser, Mechanism: mechanism, Iterations: 4096, Password: readerPassword,
		}})
		if err == nil {
			err = result.Error()
		}
		if err != nil {
			return fmt.Errorf("SCRAM credentials: %w", err)
		}
	}
	for principal, operations := range map[string][]kadm.ACLOperation{
		"User:" + readerUser:  {kadm.OpRead, kadm.OpDescribe, kadm.OpDescribeConfigs},
		"User:CN=client":      {kadm.OpRead, kadm.OpDescribe, kadm.OpDescribeConfigs},
		"User:" + limitedUser: {kadm.OpDescribe, kadm.OpDescribeConfigs},
	} {
		acl := kadm.NewACLs().Allow(principal).AllowHosts("*").
			Topics("*").Operations(operations...).ResourcePatternType(kadm.ACLPatternLiteral)
		results, err := admin.CreateACLs(ctx, acl)
		if err != nil {
			return fmt.Errorf("ACLs of %s: %w", principal, err)
		}
		for _, r := range results {
			if r.Err != nil {
				return fmt.Errorf("ACLs of %s: %w", principal, r.Err)
			}
		}
	}
	return nil
}

// writeClients writes a properties file for every way to connect.
func (b *SecureBroker) writeClients(s stores) error {
	trust := map[string]map[string]string{
		"pem": {"ssl.truststore.type": "PEM", "ssl.truststore.location": s.path("trust.pem")},
		"pkcs12": {"ssl.truststore.type": "PKCS12", "ssl.truststore.location": s.path("trust.p12"),
			"ssl.truststore.password": storePassword},
		"jks": {"ssl.truststore.type": "JKS", "ssl.truststore.location": s.path("trust.jks"),
			"ssl.truststore.password": storePassword},
	}
	keys := map[string]map[string]string{
		"pem": {"ssl.keystore.type": "PEM", "ssl.keystore.location": s.path("client.pem")},
		"pkcs12": {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": s.path("client.p12"),
			"ssl.keystore.password": storePassword, "ssl.key.password": storePassword},
		"jks": {"ssl.keystore.type": "JKS", "ssl.keystore.location": s.path("client.jks"),
			"ssl.keystore.password": storePassword, "ssl.key.password": keyPassword},
	}
	w := clientWriter{broker: b}
	w.add("plaintext", plaintext, "read")
	for _, format := range slices.Sorted(maps.Keys(trust)) {
		w.add("ssl-"+format, sslListener, "read", trust[format])
		w.add("mutual-"+format, mutualListener, "read", trust[format], keys[format])
	}
	w.add("ssl-without-truststore", sslListener, "nothing")
	w.add("mutual-without-key", mutualListener, "nothing", trust["pem"])
	w.add("ssl-other-host", strangerListener, "nothing", trust["pem"])
	w.add("ssl-other-host-unchecked", strangerListener, "read", trust["pem"],
		map[string]string{"ssl.endpoint.identification.algorithm": ""})
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		name := strings.ToLower(mechanism)
		w.add("sasl-"+name, saslListener, "read", login(mechanism, readerUser, readerPassword))
		w.add("sasl-ssl-"+name, saslSSLListener, "read", login(mechanism, readerUser, readerPassword), trust["pem"])
		w.add("limited-"+name, saslListener, "describe", login(mechanism, limitedUser, limitedPassword))
		w.add("denied-"+name, saslListener, "nothing", login(mechanism, readerUser, "wrong-secret"))
	}
	return w.err
}

// login is the configuration of a SASL user.
func login(mechanism, user, password string) map[string]string {
	module := scramModule
	if mechanism == "PLAIN" {
		module = plainModule
	}
	return map[string]string{
		"sasl.mechanism":   mechanism,
		"sasl.jaas.config": fmt.Sprintf("%s required username=%s password=%s;", module, quoteJAAS(user), quoteJAAS(password)),
	}
}

// clientWriter collects the clients of a broker.
type clientWriter struct {
	broker *SecureBroker
	err    error
}

func (w *clientWriter) add(name, listenerName, may string, parts ...map[string]string) {
	if w.err != nil {
		return
	}
	config := map[string]string{"bootstrap.servers": w.broker.address(listenerName)}
	for _, l := range w.broker.listeners {
		if l.name == listenerName {
			config["security.protocol"] = l.protocol
		}
	}
	for _, part := range parts {
		maps.Copy(config, part)
	}
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(config)) {
		fmt.Fprintf(&out, "%s=%s\n", key, escapeProperty(config[key]))
	}
	client := SecureClient{Name: name, May: may, File: filepath.Join(w.broker.Dir, name+".properties")}
	for _, secret := range []string{storePassword, keyPassword, readerPassword, limitedPassword, "wrong-secret"} {
		if strings.Contains(config["sasl.jaas.config"], quoteJAAS(secret)) || slices.Contains(slices.Collect(maps.Values(config)), secret) {
			client.Secrets = append(client.Secrets, secret)
		}
	}
	w.broker.Clients = append(w.broker.Clients, client)
	w.err = os.WriteFile(client.File, []byte(out.String()), 0o600)
}

// quoteJAAS writes a string as a JAAS configuration has it.
func quoteJAAS(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// escapeProperty writes a value as a Java properties file has it.
func escapeProperty(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(s)
}
