package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// kafkaFlags say which cluster a command talks to and how.
type kafkaFlags struct {
	bootstrap     string
	commandConfig string
	clusterID     string
}

func (f *kafkaFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.bootstrap, "bootstrap-server", "", "Kafka brokers, `HOST:PORT` separated by commas (default bootstrap.servers of --command-config)")
	fs.StringVar(&f.commandConfig, "command-config", "", "Java client properties `FILE`: security.protocol, sasl.*, ssl.*")
	fs.StringVar(&f.clusterID, "cluster-id", "", "refuse any cluster but that with this `ID`")
}

// registerOptional is register for a command that does without a cluster too.
func (f *kafkaFlags) registerOptional(cmd *cobra.Command) {
	f.register(cmd)
	cmd.Annotations[clusterOptional] = "true"
}

// clusterOptional marks a command that can do without a cluster.
const clusterOptional = "cluster-optional"

// needsCluster says whether a command line can do nothing without a cluster:
// with --topic there is nothing but that to read.
func needsCluster(cmd *cobra.Command) bool {
	if cmd.Flags().Lookup("bootstrap-server") == nil {
		return false
	}
	return cmd.Annotations[clusterOptional] == "" || cmd.Flags().Changed("topic")
}

// config is the client's configuration, without having connected.
func (f *kafkaFlags) config(warn func(string)) (kafka.Config, error) {
	cfg := kafka.Config{Warn: warn}
	if f.commandConfig != "" {
		props, err := kafka.LoadProperties("client properties", f.commandConfig)
		if err != nil {
			return cfg, err
		}
		cfg.Properties = props
	}
	for _, addr := range strings.Split(f.bootstrap, ",") {
		if addr = strings.TrimSpace(addr); addr != "" {
			cfg.Bootstrap = append(cfg.Bootstrap, addr)
		}
	}
	if len(cfg.Bootstrap) == 0 && cfg.Properties["bootstrap.servers"] == "" {
		return cfg, op.Errorf(op.Usage, "no Kafka cluster to talk to").
			WithTry("--bootstrap-server HOST:PORT, or bootstrap.servers in the file of --command-config, or a --context")
	}
	return cfg, nil
}

// open connects, and refuses a cluster that is not the pinned one.
func (f *kafkaFlags) open(ctx context.Context, warn func(string)) (*kafka.Client, error) {
	cfg, err := f.config(warn)
	if err != nil {
		return nil, err
	}
	client, err := kafka.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if f.clusterID == "" {
		return client, nil
	}
	id, err := client.ClusterID(ctx)
	if err == nil && id != f.clusterID {
		err = op.Errorf(op.Precondition, "cluster id is %q, pinned is %q: this is not the cluster you meant", id, f.clusterID).
			WithTry("check --bootstrap-server, --context and --cluster-id")
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}
