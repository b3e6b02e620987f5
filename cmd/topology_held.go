package cmd

import "sstool/internal/op"

// asksCluster says whether the command line names a cluster. An environment
// variable alone does not: a linter that talks to a cluster because of one
// would surprise in CI.
func (a *app) asksCluster(f *kafkaFlags) bool {
	return a.given["bootstrap-server"] || a.given["command-config"] || a.given["context"] && (f.bootstrap != "" || f.commandConfig != "")
}

// whoseTopology refuses to ask brokers for the topology of nobody.
func whoseTopology(appID string) error {
	if appID != "" {
		return nil
	}
	return op.Errorf(op.Usage, "whose topology do the brokers hold?").
		WithTry("--application-id ID: the group of an application with group.protocol=streams; or FILE with the text of topology.describe()")
}
