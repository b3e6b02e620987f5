package doctor

import (
	"maps"
	"strings"
	"testing"

	"sstool/internal/op"
)

func TestNewAppConfig(t *testing.T) {
	tests := []struct {
		name           string
		raw            map[string]string
		form           string
		set, lifecycle map[string]string
	}{
		{"plain", map[string]string{"application.id": "a", "schema.registry.url": "x"}, "plain",
			map[string]string{"application.id": "a", "schema.registry.url": "x"}, nil},
		{"spring", map[string]string{
			"server.port": "8080", "spring.kafka.bootstrap-servers": "general:9092", "spring.kafka.streams.bootstrap-servers": "own:9092",
			"spring.kafka.streams.application-id": "a", "spring.kafka.streams.stateDir": "/s", "spring.kafka.streams.cleanup.on-startup": "true",
			"spring.kafka.streams.properties.num.standby.replicas": "1", "spring.kafka.properties.max.poll.interval.ms": "7",
		}, "spring", map[string]string{"bootstrap.servers": "own:9092", "application.id": "a", "state.dir": "/s", "num.standby.replicas": "1", "max.poll.interval.ms": "7"},
			map[string]string{"cleanup.on-startup": "true"}},
		{"spring cloud stream", map[string]string{
			"spring.cloud.stream.kafka.streams.binder.applicationId": "a", "spring.cloud.stream.kafka.streams.binder.brokers": "b:9092",
			"spring.cloud.stream.kafka.streams.binder.configuration.processing.guarantee": "exactly_once_v2",
		}, "spring-cloud", map[string]string{"application.id": "a", "bootstrap.servers": "b:9092", "processing.guarantee": "exactly_once_v2"}, nil},
		{"quarkus", map[string]string{
			"quarkus.kafka-streams.application-id": "a", "quarkus.kafka-streams.topics": "x,y", "kafka-streams.state.dir": "/s", "quarkus.http.port": "1",
		}, "quarkus", map[string]string{"application.id": "a", "state.dir": "/s"}, map[string]string{"topics": "x,y"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := NewAppConfig("f", tt.raw)
			if c.Form != tt.form || !maps.Equal(c.Set, tt.set) || !maps.Equal(c.Lifecycle, tt.lifecycle) {
				t.Errorf("%s %v %v, want %s %v %v", c.Form, c.Set, c.Lifecycle, tt.form, tt.set, tt.lifecycle)
			}
		})
	}
}

// TestConfigChecks holds each check of the properties to a value that is right
// and to ones that are not.
func TestConfigChecks(t *testing.T) {
	tests := []struct {
		check, set string
		want       op.Status
		says       string
	}{
		{"config.guarantee", "processing.guarantee=exactly_once_v2", op.OK, ""},
		{"config.guarantee", "processing.guarantee=exactly_once", op.Wrong, "4.0"},
		{"config.guarantee", "processing.guarantee=twice", op.Wrong, "is none"},
		{"config.guarantee", "", op.Attention, "the default"},
		{"config.standby", "num.standby.replicas=1", op.OK, ""},
		{"config.standby", "", op.Attention, "restored"},
		{"config.standby", "num.standby.replicas=one", op.Wrong, "no number"},
		{"config.application-server", "application.server=node-1:8080", op.OK, ""},
		{"config.application-server", "application.server=${HOST}:8080", op.OK, "filled in"},
		{"config.application-server", "application.server=node-1", op.Wrong, "HOST:PORT"},
		{"config.application-server", "application.server=0.0.0.0:80", op.Attention, "this host only"},
		{"config.application-server", "", op.Unmeasured, "for review"},
		{"config.monitoring", "metric.reporters=x.Y", op.OK, "DEBUG"},
		{"config.monitoring", "", op.Unmeasured, "for review"},
		{"config.state-dir", "state.dir=/var/lib/ks", op.OK, ""},
		{"config.state-dir", "state.dir=/tmp/ks", op.Wrong, "/tmp"},
		{"config.state-dir", "", op.Wrong, "temporary directory"},
		{"config.names", "num.standby.replicas=1 my.own.thing=2 main.consumer.max.poll.records=3", op.OK, "3 settings, 1 of them"},
		{"config.names", "num.standby.replica=1", op.Attention, "num.standby.replicas"},
		{"config.names", "processing_guarantee=x", op.Attention, "processing.guarantee"},
		{"config.names", "producer.transaction.timeout.m=1", op.Attention, "producer.transaction.timeout.ms"},
		{"config.timeouts", "processing.guarantee=exactly_once_v2", op.OK, ""},
		{"config.timeouts", "processing.guarantee=exactly_once_v2 commit.interval.ms=20000", op.Wrong, "commit.interval.ms"},
		{"config.timeouts", "processing.guarantee=exactly_once_v2 producer.transaction.timeout.ms=3600000", op.Attention, "transaction.max.timeout.ms"},
		{"config.timeouts", "max.poll.interval.ms=30000", op.Attention, "write stall"},
		{"config.failover", "", op.OK, "10000"},
		{"config.failover", "acceptable.recovery.lag=0", op.Attention, "never caught up"},
		{"config.topics", "topic.segment.bytes=1000000", op.OK, ""},
		{"config.topics", "topic.cleanup.policy=compact", op.Attention, "every internal topic"},
		{"config.topics", "replication.factor=1", op.Attention, "one copy"},
		{"config.upgrade-from", "upgrade.from=3.9", op.Attention, "3.9"},
		{"config.upgrade-from", "", op.OK, ""},
		{"config.cleanup", "spring.kafka.streams.cleanup.on-shutdown=true spring.kafka.streams.application-id=a", op.Wrong, "cleanUp()"},
	}
	for _, tt := range tests {
		t.Run(tt.check+" "+tt.set, func(t *testing.T) {
			raw := map[string]string{}
			for _, kv := range strings.Fields(tt.set) {
				k, v, _ := strings.Cut(kv, "=")
				raw[k] = v
			}
			want(t, run(t, Options{Config: NewAppConfig("f", raw), Only: []string{tt.check}}), tt.check, tt.want, tt.says)
		})
	}
}

// TestSecretsStay says that no check tells a setting that may be a secret.
func TestSecretsStay(t *testing.T) {
	raw := map[string]string{"application.id": "a", "sasl.jaas.config": "hush-1", "ssl.keystore.password": "hush-2", "my.token": "hush-3", "sasl.jaas.confg": "hush-4",
		"application.server": "no-port", "num.standby.replicas": "x"}
	if s := text(run(t, Options{Config: NewAppConfig("f", raw)}).Findings); strings.Contains(s, "hush") {
		t.Errorf("a secret is told:\n%s", s)
	}
}
