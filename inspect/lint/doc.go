// Package lint judges names and topologies before they are deployed: store
// names that collide, names that shift with the next change, topics that cannot
// be created, state that a change would leave behind.
//
// It knows rules and nothing of texts, networks or disks: topologies come from
// internal/topology, partition counts and existing names as Facts and Dirs from
// whoever asked a cluster or a state directory. The rule table (rules.go) is the
// one source of --explain, docs/rules.md and the SARIF rule help.
//
// Rules C1 to C12 keep the numbers of the collision list that the project began
// with; N are traps of naming, W words, T shapes of a topology, P partitions, S
// existing state, I the input itself.
package lint
