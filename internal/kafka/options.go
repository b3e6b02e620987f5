package kafka

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxResponse bounds one response: a fetch answers with at least one whole
// batch, however large, and Kafka's own limit for a batch is an int32.
const maxResponse = 1 << 30

// securityKeys are the security properties that have their Java meaning here;
// securityAsDefault those whose Java default is what happens anyway.
var securityKeys = map[string]bool{
	"security.protocol": true, "sasl.mechanism": true, "sasl.jaas.config": true,
	"ssl.truststore.type": true, "ssl.truststore.location": true, "ssl.truststore.password": true, "ssl.truststore.certificates": true,
	"ssl.keystore.type": true, "ssl.keystore.location": true, "ssl.keystore.password": true, "ssl.keystore.key": true, "ssl.keystore.certificate.chain": true,
	"ssl.key.password": true, "ssl.endpoint.identification.algorithm": true, "ssl.enabled.protocols": true, "ssl.protocol": true,
}

// options turns the configuration into franz-go's. Everything that can be
// wrong with it is found here, before anything is sent.
func (c Config) options() ([]kgo.Opt, settings, error) {
	p := c.Properties
	set := settings{bootstrap: c.Bootstrap}
	if len(set.bootstrap) == 0 {
		set.bootstrap = splitList(p["bootstrap.servers"])
	}
	if err := checkAddresses(set.bootstrap); err != nil {
		return nil, set, err
	}
	c.warnUnused()

	var err error
	ms := func(key string, def time.Duration) time.Duration {
		v := strings.TrimSpace(p[key])
		if v == "" {
			return def
		}
		n, e := strconv.ParseInt(v, 10, 32)
		if (e != nil || n < 0) && err == nil {
			err = op.Errorf(op.Usage, "client property %s: %q is not a number of milliseconds", key, v)
		}
		return time.Duration(n) * time.Millisecond
	}
	set.apiTimeout = ms("default.api.timeout.ms", 20*time.Second)
	set.backoff = max(ms("retry.backoff.ms", 100*time.Millisecond), time.Millisecond)
	set.backoffMax = max(ms("retry.backoff.max.ms", time.Second), set.backoff)
	request := max(ms("request.timeout.ms", 30*time.Second), 100*time.Millisecond)
	set.request = request
	set.delivery = max(ms("delivery.timeout.ms", 2*time.Minute), time.Second)
	set.patience = min(ms("default.api.timeout.ms", connectPatience), set.apiTimeout)
	set.setup = min(max(ms("socket.connection.setup.timeout.ms", 5*time.Second), 100*time.Millisecond), max(set.apiTimeout, 100*time.Millisecond))
	idle := max(ms("connections.max.idle.ms", 9*time.Minute), time.Second)
	if err != nil {
		return nil, set, err
	}
	id := c.ClientID
	if id == "" {
		id = p["client.id"]
	}
	if id == "" {
		id = "sstool"
	}
	opts := []kgo.Opt{
		kgo.ClientID(id),
		kgo.SoftwareNameAndVersion("sstool", "1"),
		kgo.DisableClientMetrics(),
		kgo.BrokerMaxReadBytes(maxResponse),
		kgo.RequestTimeoutOverhead(min(request, 15*time.Minute)),
		kgo.ConnIdleTimeout(idle),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(n int) time.Duration { return pause(set, n-1) }),
		kgo.WithHooks(&set.dials),
	}
	set.dials.m = new(dialMemory)
	tlsConf, mech, err := c.security(&set)
	if err != nil {
		return nil, set, err
	}
	if mech != nil {
		opts = append(opts, kgo.SASL(mech))
	}
	set.tls, set.clientID = tlsConf, id
	opts = append(opts, kgo.Dialer(dialer(tlsConf, set.setup, nil)))
	return opts, set, nil
}

func splitList(s string) []string {
	var out []string
	for _, v := range strings.Split(s, ",") {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

func checkAddresses(addrs []string) error {
	if len(addrs) == 0 {
		return op.Errorf(op.Usage, "no Kafka address").WithTry("give --bootstrap-server HOST:PORT, or bootstrap.servers in the properties file")
	}
	for _, a := range addrs {
		_, port, err := net.SplitHostPort(a)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return op.Errorf(op.Usage, "Kafka address %q is not HOST:PORT", a)
		}
	}
	return nil
}

// warnUnused warns of security properties that have no effect: one that the
// user believes in must not be passed over in silence.
func (c Config) warnUnused() {
	proto := strings.ToUpper(strings.TrimSpace(c.Properties["security.protocol"]))
	names := c.Properties.names()
	idle := map[string]bool{}
	for _, k := range names {
		space, _, _ := strings.Cut(k, ".")
		switch {
		case space != "ssl" && space != "sasl" && space != "security":
		case !securityKeys[k]:
			c.warn("client property %s is not known to sstool and has no effect", k)
		case space == "ssl" && !strings.HasSuffix(proto, "SSL"), space == "sasl" && !strings.HasPrefix(proto, "SASL"):
			idle[space] = true
		}
	}
	if proto == "" {
		proto = "PLAINTEXT (the default)"
	}
	for _, space := range []string{"ssl", "sasl"} {
		if idle[space] {
			c.warn("the client properties %s.* have no effect with security.protocol %s", space, proto)
		}
	}
	for _, k := range names {
		if strings.Contains(c.Properties[k], "${") && strings.HasPrefix(k, "s") && securityKeys[k] {
			c.warn("client property %s contains ${…}, which is taken literally: config providers are not supported", k)
		}
	}
}

func (c Config) protocol() (tls, sasl bool, err error) {
	switch v := strings.TrimSpace(c.Properties["security.protocol"]); strings.ToUpper(v) {
	case "", "PLAINTEXT":
		return false, false, nil
	case "SSL":
		return true, false, nil
	case "SASL_PLAINTEXT":
		return false, true, nil
	case "SASL_SSL":
		return true, true, nil
	default:
		return false, false, &op.Error{Kind: op.Usage, What: "client property security.protocol",
			Err: fmt.Errorf("%q is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL", v)}
	}
}
