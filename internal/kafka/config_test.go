package kafka

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/op/optest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestParseProperties(t *testing.T) {
	// What java.util.Properties.load makes of it.
	for _, x := range []struct {
		in   string
		want Properties
	}{
		{"a=b", Properties{"a": "b"}},
		{"a = b \nc:d\ne f\ng", Properties{"a": "b ", "c": "d", "e": "f", "g": ""}},
		{"# no\n! no\n\n  a=#b", Properties{"a": "#b"}},
		{"a=b\\\n   c", Properties{"a": "bc"}},
		{"a=b\\\r\n   c\r\nd=e\r\n", Properties{"a": "bc", "d": "e"}},
		{`a=C:\\x\ty \u00e9\"`, Properties{"a": "C:\\x\ty é\""}},
		{`a\=b\:c=d`, Properties{"a=b:c": "d"}},
		{"a=${HOME}", Properties{"a": "${HOME}"}},
		{"a=\xe9", Properties{"a": "é"}},
		{"a=1\na=2", Properties{"a": "2"}},
		{"a.\\\n  b\\\r c = d", Properties{"a.bc": "d"}}, // a name goes on, too
		{"a=b\\\n\n#c", Properties{"a": "b"}},
		{"\\\n#a=b", Properties{}},
		{"a=\\uD83D\\uDE00\\", Properties{"a": "😀"}},
	} {
		got, err := parseProperties([]byte(x.in))
		if err != nil || !maps.Equal(got, x.want) {
			t.Errorf("%q: %#v, %v", x.in, map[string]string(got), err)
		}
	}
	_, err := parseProperties([]byte("a=b\nsasl.jaas.config=hunter2 \\uXYZW\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

func TestLoadProperties(t *testing.T) {
	f := filepath.Join(t.TempDir(), "client.properties")
	os.WriteFile(f, []byte("bootstrap.servers=a:1, b:2\n"), 0o600)
	p, err := LoadProperties("client properties", f)
	if err != nil || p["bootstrap.servers"] != "a:1, b:2" {
		t.Fatal(p, err)
	}
	_, set, err := Config{Properties: p}.options()
	if err != nil || !slices.Equal(set.bootstrap, []string{"a:1", "b:2"}) {
		t.Fatal(set.bootstrap, err)
	}
	_, err = LoadProperties("client properties", f+"x")
	optest.WantKind(t, err, op.NotFound, f+"x")
}

func TestParseJAAS(t *testing.T) {
	const plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
	for _, x := range []struct {
		in   string
		want map[string]string
	}{
		{plain + ` required username="a" password="b";`, map[string]string{"username": "a", "password": "b"}},
		{plain + " REQUIRED\n\tpassword = 'b\"c'  username=a ;\n", map[string]string{"username": "a", "password": `b"c`}},
		{plain + ` required username="a" password="a\"b\\c\td\101\7e";`, map[string]string{"username": "a", "password": "a\"b\\c\tdA\ae"}},
		{plain + ` required /* x */ username="a;=" // y
			password="//p/*" serviceName="";`, map[string]string{"username": "a;=", "password": "//p/*", "serviceName": ""}},
		{plain + ` required username="ü" password=12-3_$4.5;`, map[string]string{"username": "ü", "password": "12-3_$4.5"}},
		{plain + ` required;`, map[string]string{}},
	} {
		e, err := parseJAAS(x.in)
		if err != nil || e.module != plain || !maps.Equal(e.options, x.want) {
			t.Errorf("%s: %q %v", x.in, e, err)
		}
	}
	for _, in := range []string{
		"", " ", plain, plain + " required", plain + ` required username="a" password="hunter2"`,
		plain + ` required username="a" password="hunter2;`, plain + ` required username="a" password=;`,
		plain + ` username="a" password="hunter2";`, plain + ` required username="a" password hunter2;`,
		plain + ` required password="hunter2"; ` + plain + ` required;`, plain + " required password=\"hunter2\n\";",
		plain + ` required /* password="hunter2";`, plain + ` required password="x\hunter2`, plain + ` required =hunter2;`,
		`"hunter2`, plain + ` hunter2;`, plain + ` required password=hunter 2;`,
	} {
		_, err := parseJAAS(in)
		if err == nil {
			t.Errorf("%s: no error", in)
		} else if strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: leaks: %v", in, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	jaas := func(module string) string { return module + ` required username="u" password="hunter2";` }
	const pm, sm = "org.apache.kafka.common.security.plain.PlainLoginModule", "org.apache.kafka.common.security.scram.ScramLoginModule"
	sasl := Properties{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas(pm)}
	for _, x := range []struct {
		name string
		p    Properties
		want string // "" means fine
	}{
		{"plain", sasl, ""},
		{"scram", with(sasl, "sasl.mechanism", "SCRAM-SHA-512", "sasl.jaas.config", jaas(sm)), ""},
		{"protocol", with(sasl, "security.protocol", "TLS"), "none of PLAINTEXT"},
		{"no mechanism", with(sasl, "sasl.mechanism", ""), "GSSAPI"},
		{"GSSAPI", with(sasl, "sasl.mechanism", "GSSAPI"), `"GSSAPI" is not supported`},
		{"OAUTHBEARER", with(sasl, "sasl.mechanism", "OAUTHBEARER"), `"OAUTHBEARER" is not supported`},
		{"no jaas", with(sasl, "sasl.jaas.config", ""), "sasl.jaas.config"},
		{"bad jaas", with(sasl, "sasl.jaas.config", jaas(pm)[:70]), "sasl.jaas.config"},
		{"other module", with(sasl, "sasl.jaas.config", jaas(sm)), "PlainLoginModule"},
		{"kerberos", with(sasl, "sasl.jaas.config", jaas("com.sun.security.auth.module.Krb5LoginModule")), "PlainLoginModule"},
		{"no username", with(sasl, "sasl.jaas.config", pm+` required password="hunter2";`), "no username"},
		{"no password", with(sasl, "sasl.jaas.config", pm+` required username="u";`), "no password"},
		{"timeout", with(sasl, "request.timeout.ms", "30s"), "request.timeout.ms"},
		{"identification", with(sasl, "security.protocol", "SASL_SSL", "ssl.endpoint.identification.algorithm", "ldaps"), "neither https nor empty"},
		{"address", Properties{"bootstrap.servers": "localhost"}, "HOST:PORT"},
		{"no address", Properties{"bootstrap.servers": " , "}, "no Kafka address"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if _, ok := x.p["bootstrap.servers"]; !ok {
				x.p = with(x.p, "bootstrap.servers", "localhost:9092")
			}
			_, _, err := Config{Properties: x.p}.options()
			if x.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			optest.WantKind(t, err, op.Usage, x.want)
			if s := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(s, "hunter2") {
				t.Error("leaks: " + s)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for _, x := range []struct {
		p    Properties
		want []string
	}{
		{Properties{"group.id": "x", "acks": "all"}, nil},
		{Properties{"security.protocol": "SSL", "ssl.cipher.suites": "x", "sasl.login.class": "y", "security.providers": "z"},
			[]string{"sasl.login.class", "security.providers", "ssl.cipher.suites"}},
		{Properties{"ssl.truststore.location": "x"}, []string{"ssl.* have no effect with security.protocol PLAINTEXT (the default)"}},
		{Properties{"sasl.mechanism": "PLAIN", "security.protocol": "SSL"}, []string{"sasl.* have no effect with security.protocol SSL"}},
		{Properties{"security.protocol": "SSL", "ssl.truststore.password": "${env:hunter2}"}, []string{"ssl.truststore.password contains ${…}"}},
	} {
		var got []string
		c := Config{Bootstrap: []string{"a:1"}, Properties: x.p, Warn: func(s string) { got = append(got, s) }}
		c.options()
		ok := len(got) == len(x.want)
		for i := range min(len(got), len(x.want)) {
			ok = ok && strings.Contains(got[i], x.want[i]) && !strings.Contains(got[i], "hunter2")
		}
		if !ok {
			t.Errorf("%v: %q", x.p, got)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	c := Config{Bootstrap: []string{"a:1"}, Properties: Properties{"sasl.jaas.config": "hunter2", "ssl.key.password": "hunter2"}}
	js, _ := json.Marshal(c.Properties)
	var log strings.Builder
	l := slog.New(slog.NewTextHandler(&log, nil))
	l.Info("x", "c", c, "p", c.Properties)
	for _, s := range []string{
		fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s %q %x", c, c, c, c, c, c), fmt.Sprintf("%+v %#v", &c, &c),
		fmt.Sprintf("%v %+v %#v %s %q %x", c.Properties, c.Properties, c.Properties, c.Properties, c.Properties, c.Properties),
		fmt.Sprintf("%+v", struct{ C Config }{c}), string(js), log.String(),
	} {
		if strings.Contains(s, "hunter2") || strings.Contains(s, "68756e746572") {
			t.Error(s)
		}
		if !strings.Contains(s, "ssl.key.password") && !strings.Contains(s, fmt.Sprintf("%x", "ssl")) {
			t.Error("does not even name the property: " + s)
		}
	}
}

func TestSASL(t *testing.T) {
	users := []kafkatest.User{
		{Mechanism: "PLAIN", Name: "alice", Password: `p"w;\d`},
		{Mechanism: "SCRAM-SHA-256", Name: "bob", Password: "pw2"},
		{Mechanism: "SCRAM-SHA-512", Name: "carol", Password: "pw3"},
	}
	k := startCluster(t, kafkatest.Options{Users: users})
	modules := map[string]string{"PLAIN": "plain.PlainLoginModule", "SCRAM-SHA-256": "scram.ScramLoginModule", "SCRAM-SHA-512": "scram.ScramLoginModule"}
	esc := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, u := range users {
		p := Properties{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": u.Mechanism, "default.api.timeout.ms": "3600000",
			"sasl.jaas.config": fmt.Sprintf(`org.apache.kafka.common.security.%s required username="%s" password="%s";`, modules[u.Mechanism], u.Name, esc.Replace(u.Password))}
		if err := tryOpen(t, k.Addrs(), p); err != nil {
			t.Error(u.Mechanism, err)
		}
		p["sasl.jaas.config"] = strings.Replace(p["sasl.jaas.config"], `password="`, `password="hunter2`, 1)
		// kfake only hangs up; a real broker says why.
		f := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLAuthenticate}, TopLevel: true, Err: kerr.SaslAuthenticationFailed, Count: -1})
		start := time.Now()
		err := tryOpen(t, k.Addrs(), p)
		f.Remove()
		optest.WantKind(t, err, op.Unreachable, "connect to Kafka", "username and password")
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), u.Password) {
			t.Error("leaks: ", err)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("a wrong password is noticed after %s", d)
		}
	}
	err := tryOpen(t, k.Addrs(), Properties{})
	optest.WantKind(t, err, op.Unreachable, "connect to Kafka", "security.protocol")
}

func TestNoBroker(t *testing.T) {
	t.Parallel()
	start := time.Now()
	err := tryOpen(t, []string{"127.0.0.1:1"}, Properties{"default.api.timeout.ms": "8000"})
	optest.WantKind(t, err, op.Unreachable, "127.0.0.1:1", "connection refused")
	if d := time.Since(start); d > time.Minute {
		t.Errorf("noticed after %s", d)
	}
}
