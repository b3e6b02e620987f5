// Package spec is the store specification: a YAML file that says what stores
// an application has, as far as a restore needs to know. It parses strictly,
// prints with a comment on where each value comes from, and collects what can
// be known from a state directory (certain), a topology text, and the topics
// of a cluster (derived).
//
// It knows no Kafka client: the caller hands over topic facts. What a store
// kind means is in streams; how rows are read is in lsm.
package spec
