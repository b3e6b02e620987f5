package kafka

import (
	"errors"
	"fmt"
	"strings"

	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// mechanism makes the SASL mechanism of sasl.mechanism and sasl.jaas.config.
func (p Properties) mechanism() (m sasl.Mechanism, user string, err error) {
	usage := func(key string, err error) error {
		return &op.Error{Kind: op.Usage, What: "client property " + key, Err: err}
	}
	name := strings.TrimSpace(p["sasl.mechanism"])
	switch name {
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
	case "":
		return nil, "", usage("sasl.mechanism", errors.New("not set, and the default, GSSAPI (Kerberos), is not supported: PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 are"))
	default:
		return nil, "", usage("sasl.mechanism", fmt.Errorf("%q is not supported: PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 are", name))
	}
	const key = "sasl.jaas.config"
	if strings.TrimSpace(p[key]) == "" {
		return nil, "", usage(key, fmt.Errorf("not set, %s needs it", name))
	}
	e, err := parseJAAS(p[key])
	if err != nil {
		return nil, "", usage(key, err)
	}
	want := "PlainLoginModule"
	if name != "PLAIN" {
		want = "ScramLoginModule"
	}
	if module := e.module[strings.LastIndexByte(e.module, '.')+1:]; module != want {
		return nil, "", usage(key, fmt.Errorf("sasl.mechanism %s takes the login module org.apache.kafka.common.security.%s.%s, the configuration names another",
			name, strings.ToLower(strings.TrimSuffix(want, "LoginModule")), want))
	}
	user, pass := e.options["username"], e.options["password"]
	if user == "" {
		return nil, "", usage(key, errors.New("no username"))
	}
	if _, ok := e.options["password"]; !ok {
		return nil, "", usage(key, errors.New("no password"))
	}
	s := scram.Auth{User: user, Pass: pass, IsToken: strings.EqualFold(e.options["tokenauth"], "true")}
	switch name {
	case "SCRAM-SHA-256":
		return s.AsSha256Mechanism(), user, nil
	case "SCRAM-SHA-512":
		return s.AsSha512Mechanism(), user, nil
	}
	return plain.Auth{User: user, Pass: pass}.AsMechanism(), user, nil
}
