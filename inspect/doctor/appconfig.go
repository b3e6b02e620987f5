package doctor

import (
	"maps"
	"slices"
	"strings"
)

// AppConfig is the application's properties, by StreamsConfig's names. A nil
// one knows nothing.
type AppConfig struct {
	File string
	Set  map[string]string
	// Form is how the file spells them: plain, spring, spring-cloud, quarkus.
	Form string
	// Lifecycle are settings of the framework around Kafka Streams.
	Lifecycle map[string]string
}

// prefixes are those under which frameworks pass settings on, the longest
// first.
func prefixes() [][2]string {
	return [][2]string{
		{"spring.cloud.stream.kafka.streams.binder.configuration.", "spring-cloud"},
		{"spring.cloud.stream.kafka.streams.binder.", "spring-cloud"},
		{"spring.kafka.streams.properties.", "spring"},
		{"spring.kafka.streams.", "spring"},
		{"spring.kafka.properties.", "spring"},
		{"spring.kafka.", "spring"},
		{"quarkus.kafka-streams.", "quarkus"},
		{"kafka-streams.", "quarkus"},
	}
}

// passedOn are the prefixes behind which names are Kafka's own.
func passedOn(prefix string) bool {
	return strings.HasSuffix(prefix, "properties.") || strings.HasSuffix(prefix, "configuration.") || prefix == "kafka-streams."
}

// NewAppConfig takes properties as they are written: StreamsConfig's own
// names, or those of Spring (spring.kafka.streams.…), Spring Cloud Stream and
// Quarkus, which may stand among others of the application.
func NewAppConfig(file string, raw map[string]string) *AppConfig {
	c := &AppConfig{File: file, Form: "plain", Set: map[string]string{}, Lifecycle: map[string]string{}}
	for _, p := range prefixes() {
		if slices.ContainsFunc(slices.Collect(maps.Keys(raw)), func(k string) bool { return strings.HasPrefix(k, p[0]) }) {
			c.Form = p[1]
			break
		}
	}
	if c.Form == "plain" {
		maps.Copy(c.Set, raw)
		return c
	}
	// What is more exact wins: later prefixes only fill in.
	for _, p := range prefixes() {
		for _, key := range slices.Sorted(maps.Keys(raw)) {
			name, ok := strings.CutPrefix(key, p[0])
			if !ok || slices.ContainsFunc(prefixes(), func(q [2]string) bool {
				return len(q[0]) > len(p[0]) && strings.HasPrefix(key, q[0])
			}) {
				continue
			}
			to := c.Set
			if !passedOn(p[0]) {
				if name = frameworkName(name); strings.HasPrefix(name, "cleanup.") || name == "topics" {
					to = c.Lifecycle
				}
			}
			if _, has := to[name]; !has {
				to[name] = raw[key]
			}
		}
	}
	return c
}

// frameworkName turns application-id and applicationId into application.id.
func frameworkName(name string) string {
	if strings.HasPrefix(name, "cleanup.") {
		return name
	}
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '-':
			b.WriteByte('.')
		case r >= 'A' && r <= 'Z' && i > 0:
			b.WriteByte('.')
			b.WriteRune(r + 'a' - 'A')
		default:
			b.WriteRune(r)
		}
	}
	if b.String() == "brokers" { // of Spring Cloud Stream
		return "bootstrap.servers"
	}
	return b.String()
}

// get is a setting as it is written; "" when it is not set.
func (c *AppConfig) get(name string) string {
	if c == nil {
		return ""
	}
	return strings.TrimSpace(c.Set[name])
}

// Known says whether any of the settings is Kafka's: a file without one says
// nothing of the application.
func (c *AppConfig) Known() bool {
	for key := range c.Set {
		name, who, _ := ownerOf(key)
		if slices.Contains(namesOf(who), name) {
			return true
		}
	}
	return false
}

// client is a setting of one of the clients, as Kafka Streams finds it: with
// the client's prefix, or without.
func (c *AppConfig) client(prefix, name string) string {
	if v := c.get(prefix + name); v != "" {
		return v
	}
	return c.get(name)
}
