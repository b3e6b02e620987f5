package cmd

import (
	"github.com/spf13/cobra"

	"sstool/inspect/topodiff"
	"sstool/internal/op"
	"sstool/internal/topology"
)

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

// diffCluster asks the cluster for partition counts, where no file tells them,
// and for OLD where it was left out.
func (a *app) diffCluster(cmd *cobra.Command, f *topologyDiffFlags, texts []*topology.Model, o *topodiff.Options) ([]*topology.Model, error) {
	warn := func(text string) { a.warn(cmd, text) }
	client, err := f.kafka.open(cmd.Context(), warn)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if len(texts) == 1 {
		old, err := client.StreamsTopology(cmd.Context(), f.appID)
		if err != nil {
			return nil, err
		}
		a.tellProblems(cmd, old)
		if old.Topologies[0].Partial {
			if texts, err = reduced(texts[0], o.Optimized); err != nil {
				return nil, err
			}
		}
		texts = append([]*topology.Model{old}, texts...)
	}
	topics, err := client.Topics(cmd.Context())
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, t := range topics {
		counts[t.Name] = len(t.Partitions)
	}
	if o.OldPartitions == nil {
		o.OldPartitions = counts
	}
	if o.NewPartitions == nil {
		o.NewPartitions = counts
	}
	return texts, nil
}

// reduced is a model as brokers would hold it: what they do not hold is not
// compared.
func reduced(m *topology.Model, optimized bool) ([]*topology.Model, error) {
	out := *m
	out.Topologies = nil
	for i := range m.Topologies {
		t, err := m.Topologies[i].Reduce(optimized)
		if err != nil {
			return nil, err
		}
		out.Topologies = append(out.Topologies, *t)
	}
	return []*topology.Model{&out}, nil
}
