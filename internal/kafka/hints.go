package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// hint is the likely cause of a connection that does not come about, or the
// next thing to look at.
func (c *Client) hint(err error) string {
	var unknownCA x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	withTLS, withSASL, _ := c.cfg.protocol()
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return "check username and password in sasl.jaas.config, and sasl.mechanism"
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Sprintf("the listener does not offer sasl.mechanism %s: set the one that it does", c.cfg.Properties["sasl.mechanism"])
	case errors.Is(err, kerr.IllegalSaslState):
		return "the listener does not take SASL: check security.protocol, sasl.mechanism and the port"
	case errors.As(err, &unknownCA):
		return "add the certificate authority of the brokers to ssl.truststore.location"
	case errors.As(err, &host):
		return "use the name in the broker's certificate, or set ssl.endpoint.identification.algorithm to empty"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew the broker's certificate, or check the clock of this machine"
	case isAlert(err):
		return c.alertHint(err)
	}
	if s := c.streamHint(err, withTLS, withSASL); s != "" {
		return s
	}
	return c.addressHint(err)
}

// alertHint is for a broker that ended the TLS connection and said why.
func (c *Client) alertHint(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "protocol version"):
		return "check ssl.enabled.protocols: the broker takes other TLS versions"
	case !strings.Contains(text, "certificate") && !strings.Contains(text, "handshake failure"):
		return "the broker refused the TLS connection: check ssl.keystore.location and ssl.enabled.protocols"
	case c.hasKeyStore():
		return "the broker refuses the client's certificate: check that it trusts the authority of the one in ssl.keystore.location"
	}
	return "the broker wants a client certificate: set ssl.keystore.location, ssl.keystore.type and ssl.keystore.password"
}

func (c *Client) hasKeyStore() bool {
	p := c.cfg.Properties
	return p["ssl.keystore.location"] != "" || p["ssl.keystore.key"] != ""
}

// streamHint is for peers that say something else than Kafka, hang up or
// stay silent: most often the wrong security.protocol for the port.
func (c *Client) streamHint(err error, withTLS, withSASL bool) string {
	var record tls.RecordHeaderError
	var shake *handshakeError
	var silent *silentError
	gone := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	var foreign *foreignError
	switch {
	case errors.As(err, &record), errors.As(err, &shake) && (gone || errors.As(err, &silent)):
		return "the listener may not speak TLS: check security.protocol (SSL or not) and the port"
	case errors.As(err, &foreign) && foreign.tls:
		return "the listener speaks TLS: set security.protocol to SSL or SASL_SSL, or use another port"
	case errors.As(err, &foreign):
		return "what listens there is no Kafka broker, or needs TLS: check the port and security.protocol"
	case gone && withSASL:
		return "the broker closed the connection while it was set up: check username, password, sasl.mechanism and security.protocol"
	case gone && withTLS && !c.hasKeyStore():
		return "the broker may want a client certificate (ssl.keystore.location) or SASL: check security.protocol and the port"
	case gone && withTLS:
		return "the broker may want another certificate (ssl.keystore.location) or SASL: check security.protocol and the port"
	case gone:
		return "the listener may need TLS or SASL: check security.protocol (--command-config) and the port"
	case errors.As(err, &silent) && withTLS:
		return "check that the broker is alive, security.protocol and the port"
	case errors.As(err, &silent):
		return "check that the broker is alive and the port; if the listener needs TLS or SASL: security.protocol (--command-config)"
	}
	return ""
}

// addressHint is for addresses that cannot be reached.
func (c *Client) addressHint(err error) string {
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		if errors.Is(err, errNoAnswerYet) {
			return "check the addresses and security.protocol, or allow more with default.api.timeout.ms"
		}
		return ""
	}
	var dns *net.DNSError
	isDNS := errors.As(err, &dns)
	given := slices.ContainsFunc(c.set.bootstrap, func(a string) bool {
		host, _, _ := net.SplitHostPort(a)
		return dial.Addr != nil && (dial.Addr.String() == a || !isIP(host)) || isDNS && dns.Name == host
	})
	switch {
	case !given:
		return "the cluster names this address for one of its brokers (advertised.listeners): it must be reachable from here"
	case isDNS:
		return "check the host names in --bootstrap-server, and the name servers of this machine"
	case dial.Timeout():
		return "check the addresses in --bootstrap-server and the firewalls, or allow more with socket.connection.setup.timeout.ms"
	}
	return "check the addresses in --bootstrap-server, and that the brokers run"
}

func isIP(host string) bool { return net.ParseIP(host) != nil }

func isDNS(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.Is(err, errNoAnswerYet) || errors.As(err, &t) && t.Timeout()
}

// isAlert tells a TLS alert of the peer. crypto/tls reports it as an operation
// of that name; its own alert type is not exported, tls.AlertError is QUIC's.
func isAlert(err error) bool {
	var oe *net.OpError
	return errors.As(err, &oe) && oe.Op == "remote error"
}

// reason is the error without what the message around it says already: the
// address, and franz-go's guesses, which are hints here.
func reason(err error) string {
	var eof *kgo.ErrFirstReadEOF
	var shake *handshakeError
	var oe *net.OpError
	var silent *silentError
	switch {
	case errors.As(err, &silent) && errors.As(err, &shake):
		return shake.Error()
	case errors.As(err, &silent):
		return silent.Error()
	case errors.As(err, &eof) && errors.As(err, &shake):
		return "the broker closed the connection during the TLS handshake"
	case errors.As(err, &eof), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the broker closed the connection"
	case errors.As(err, &shake):
		if inner := new(net.OpError); errors.As(shake.err, &inner) && inner.Op != "remote error" {
			return "TLS handshake: " + inner.Err.Error()
		}
		return shake.Error()
	case errors.As(err, &oe) && oe.Op == "dial" && oe.Timeout() && !isDNS(err):
		return "no connection in time"
	case errors.As(err, &oe) && oe.Op != "remote error":
		return oe.Err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return errNoAnswerYet.Error()
	}
	// franz-go puts the code's description before what the broker says of it.
	text := strings.TrimPrefix(err.Error(), "unable to dial: ")
	return strings.Replace(text, kerr.SaslAuthenticationFailed.Description+": ", "", 1)
}
