package kafka_test

import (
	"strings"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/worldtest"
)

// Every client of a real broker at the port of another one: the cause is
// named, and soon.
func TestRealWrongSecurity(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartSecureBroker(t, worldtest.Options{})
	load := func(name string) kafka.Properties {
		p, err := kafka.LoadProperties("client properties", b.Client(name).File)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, x := range []struct{ client, port, try string }{
		{"plaintext", "ssl-jks", "security.protocol"},
		{"plaintext", "sasl-plain", "security.protocol"},
		{"plaintext", "sasl-ssl-plain", "security.protocol"},
		{"ssl-jks", "plaintext", "security.protocol"},
		{"ssl-jks", "sasl-plain", "security.protocol"},
		{"ssl-jks", "sasl-ssl-plain", "security.protocol"},
		{"ssl-jks", "mutual-jks", "wants a client certificate: set ssl.keystore.location"},
		{"sasl-plain", "plaintext", "security.protocol"},
		{"sasl-plain", "ssl-jks", "security.protocol"},
		{"sasl-plain", "sasl-ssl-plain", "security.protocol"},
		{"sasl-ssl-plain", "sasl-plain", "security.protocol"},
		{"sasl-ssl-plain", "ssl-jks", "security.protocol"},
	} {
		t.Run(x.client+" to "+x.port, func(t *testing.T) {
			p := load(x.client)
			addr := load(x.port)["bootstrap.servers"]
			p["bootstrap.servers"] = addr
			start := time.Now()
			c, err := kafka.Open(t.Context(), kafka.Config{Properties: p})
			if err == nil {
				c.Close()
				t.Fatal("connected")
			}
			tries := strings.Join(op.Tries(err), "\n")
			if op.KindOf(err) != op.Unreachable || !strings.Contains(tries, x.try) || strings.Count(err.Error(), addr) != 1 {
				t.Errorf("%v\ntry: %s", err, tries)
			}
			if d := time.Since(start); d > time.Minute {
				t.Errorf("took %s", d)
			}
			t.Logf("%s: %v\ntry: %s", time.Since(start).Round(time.Millisecond), err, tries)
		})
	}
}
