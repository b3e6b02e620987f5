// Package topodiff compares two versions of an application's topology and says
// what the change does to its state: which stores and internal topics keep
// their names, which lose them, which move, and how each is kept.
//
// Generated names say nothing about identity, as every insertion renumbers what
// follows. So the two are matched by structure: first what a person named, and
// the topics of others; from there along the arrows, at first exactly, then
// looking through what keeps no state, then by what is most alike.
//
// It reads models of internal/topology and nothing else: no files, no Kafka.
package topodiff
