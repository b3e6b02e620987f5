// Package doctor says what will happen to an application before it happens:
// what the next start does with every task and store, what an upgrade or a
// downgrade would do, whether changelogs, host and configuration are as they
// should be. It only reads.
//
// Run gathers the facts once (facts.go), from whatever it is given: a state
// directory, a cluster, a topology, the application's properties, its log. Then
// every check of the table (check.go) looks at them and says ok, warning,
// problem or, where a fact is missing, unmeasured with the cause: a check is
// never silent and never guesses. One file has the checks of one area.
//
// What does not live here: how facts are read (inspect, kafka, topology), and
// thresholds over metrics (inspect/monitor).
package doctor
