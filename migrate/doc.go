// Package migrate changes state that exists. Every change is a plan that only
// reads, steps that a person can look at, and Apply, which holds the
// application's lock, checks that the plan still fits, and carries the steps
// out. Stopped anywhere it leaves the old state or the new one, and a second
// run continues.
//
// What does not live here: filling fresh stores from changelogs (restore),
// looking at state (inspect), and RocksDB itself (rocks).
package migrate
