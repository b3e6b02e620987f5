// Package worldtest is the real thing for tests and benchmarks: it starts
// Kafka brokers from Maven artifacts, drives real Kafka Streams applications
// of several versions through the Java harness of testdata/world, and writes
// topics that no healthy application would write. It lives on Java 17 and
// Maven; everything it downloads or compiles is cached below
// $XDG_CACHE_HOME/sstool/world, everything else is temporary.
//
// It knows nothing of sstool's own packages except what a test of
// internal/kafka needs, so that it can be the judge of them. Only tests and
// benchmarks import it.
package worldtest
