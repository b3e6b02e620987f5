package cmd

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sstool/inspect/lint"
	"sstool/inspect/monitor"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/topology"
	"sstool/tui"
)

// tuiContext is what the flags say to look at.
func (a *app) tuiContext(f *tuiFlags, args []string) (tui.Context, error) {
	c := tui.Context{ApplicationID: f.id}
	cluster := f.kafka.bootstrap != "" || f.kafka.commandConfig != ""
	switch {
	case len(args) == 1:
		c.Path = args[0]
	case f.stateDir != "":
		c.Path = f.stateDir
		if f.id != "" && filepath.Base(filepath.Clean(f.stateDir)) != f.id {
			c.Path = filepath.Join(f.stateDir, f.id)
		}
	case !cluster:
		c.Path = "."
	}
	if c.Path != "" {
		abs, err := filepath.Abs(c.Path)
		if err == nil {
			c.Path = abs
		}
		if _, err := os.Stat(c.Path); err != nil {
			return c, op.Errorf(op.NotFound, "%w", err)
		}
	}
	connectTo(&c, f.kafka)
	var err error
	if c.AppConfig, err = readAppConfig(f.appConfig); err != nil {
		return c, err
	}
	if c.Metrics, err = a.tuiMetrics(f.metrics, f.thresholds, f.sla); err != nil {
		return c, err
	}
	if len(f.topology) > 0 {
		models, err := topology.Load(f.topology, a.io.In, topology.Options{ApplicationID: f.id})
		if err != nil {
			return c, err
		}
		c.TopologyArgs = f.topology
		for _, m := range models {
			c.Topologies = append(c.Topologies, *m)
		}
		c.LintFacts = func(ctx context.Context, client *kafka.Client, o *lint.Options) ([]string, error) {
			return lintAs(ctx, f.topology, client, o)
		}
	}
	return c, nil
}

// tuiMetrics is where metrics are and what they are held against; nil without
// any.
func (a *app) tuiMetrics(targets []string, thresholds string, sla durationValue) (*tui.Metrics, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	f := monitorFlags{timeout: durationValue(10 * time.Second), thresholds: thresholds, sla: sla}
	access, err := a.monitorAccess(&f)
	if err != nil {
		return nil, err
	}
	sources, err := monitor.Open(targets, access)
	if err != nil {
		return nil, err
	}
	out := &tui.Metrics{Sources: sources, Args: slices.Clone(targets)}
	if out.Options, err = monitorOptions(&f); err != nil {
		return nil, err
	}
	if thresholds != "" {
		out.Args = append(out.Args, "--thresholds", thresholds)
	}
	if sla > 0 {
		out.Args = append(out.Args, "--sla", sla.String())
	}
	return out, nil
}

// lintAs adds what sstool lint would to topologies that were read from args.
func lintAs(ctx context.Context, args []string, client *kafka.Client, o *lint.Options) (warned []string, err error) {
	configs := lintConfigs{found: map[string]*lint.Config{}}
	for i := range o.Inputs {
		src, err := topology.ParseArgument(args[i])
		if err != nil {
			return nil, err
		}
		if o.Inputs[i].Config, err = configs.of(src.Path); err != nil {
			return nil, err
		}
	}
	if client == nil {
		return nil, nil
	}
	var f lintFlags
	err = f.askCluster(ctx, client, o, func(text string) { warned = append(warned, text) })
	return warned, err
}

// connectTo adds the cluster of the flags, if they name one.
func connectTo(c *tui.Context, k kafkaFlags) {
	if k.bootstrap == "" && k.commandConfig == "" {
		return
	}
	c.Cluster, c.Flags = cmp.Or(k.bootstrap, filepath.Base(k.commandConfig)), k.words()
	c.Connect = func(ctx context.Context) (*kafka.Client, error) { return k.open(ctx, func(string) {}) }
}

// configuredContext is one of the config file's contexts to look at.
func (a *app) configuredContext(c configContext) (tui.Context, kafkaFlags) {
	out := tui.Context{Name: c.name}
	var k kafkaFlags
	for _, s := range c.settings {
		switch s.key {
		case "bootstrap-server":
			k.bootstrap = s.value
		case "command-config":
			k.commandConfig = s.value
		case "cluster-id":
			k.clusterID = s.value
		case "application-id":
			out.ApplicationID = s.value
		case "state-dir":
			out.Path = s.value
		case "app-config":
			out.AppConfig, out.AppConfigErr = readAppConfig(s.value)
		case "metrics":
			var f namesValue
			err := f.Set(s.value)
			if err == nil {
				out.Metrics, err = a.tuiMetrics(f, "", 0)
			}
			if err != nil {
				out.Metrics = &tui.Metrics{Err: err}
			}
		}
	}
	if out.Path != "" && out.ApplicationID != "" && filepath.Base(out.Path) != out.ApplicationID {
		out.Path = filepath.Join(out.Path, out.ApplicationID)
	}
	connectTo(&out, k)
	return out, k
}
