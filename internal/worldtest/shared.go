package worldtest

import "testing"

// Shared is one broker, and one JVM for each version of Kafka Streams, for all
// parts of a test: starting them takes longer than most parts do.
type Shared struct {
	*Broker
	t       testing.TB
	harness map[string]*Harness
}

// StartShared starts the broker, which ends with the test; so do the JVMs.
func StartShared(t testing.TB, o Options) *Shared {
	t.Helper()
	return &Shared{Broker: StartBroker(t, o), t: t, harness: map[string]*Harness{}}
}

// Streams is the harness of a version. It is for one goroutine.
func (s *Shared) Streams(version string) *Harness {
	s.t.Helper()
	if s.harness[version] == nil {
		s.harness[version] = Streams(s.t, version)
	}
	return s.harness[version]
}
