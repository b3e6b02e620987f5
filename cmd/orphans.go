package cmd

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect/orphans"
	"sstool/internal/human"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/topology"
	"sstool/migrate"
)

const orphansLong = `Finds internal topics, committed offsets, state directories, lines of .checkpoint files
and segments that no application uses any more, with size, last write, and the command
that removes each. It decides by exact sets, never by how a name begins: a topology
(--topology, or what brokers hold of a group of the streams protocol) tells every name
an application uses, --gone says that it uses none, running groups tell what they read.
What my-app-v2-x-changelog belongs to is only known when my-app and my-app-v2 are.

Three verdicts: "orphan" is proven; "likely" is what nothing known uses, without proof;
"unclear" cannot be told apart from what is used. --delete plans the deletion of the
orphans, shows it, asks, looks at everything once more, and deletes. Nothing else is
deleted, unless --unused names it. The applications must be stopped.`

const orphansExample = `  sstool orphans --topology orders=orders.txt --bootstrap-server localhost:9092 --state-dir /var/lib/kafka-streams
  sstool orphans --application-id _confluent-ksql-transient_1_1700000000000 --bootstrap-server localhost:9092
  sstool orphans --gone my-app --topology my-app-v2=v2.txt --bootstrap-server localhost:9092 --delete --dry-run`

// orphansFlags are the flags of sstool orphans.
type orphansFlags struct {
	kafka    kafkaFlags
	out      outputFlag
	progress progressFlag

	apps, gone, others, unused namesValue
	topologies                 []string
	fromLog                    bool
	stateDir                   string
	delete, dryRun, yes        bool
	wait                       durationValue
}

func newOrphans(a *app) *cobra.Command {
	var f orphansFlags
	cmd := &cobra.Command{
		Use:     "orphans",
		Short:   "find topics, directories and offsets that nothing uses any more",
		Long:    orphansLong,
		Example: orphansExample,
		Annotations: exits([]exit{
			{0, "nothing found, or all of it deleted"}, {1, "failed"}, {2, "wrong flags, a topology that cannot be used, or no terminal to ask on without --yes"},
			{3, "found orphans, or likely ones"}, {4, "finished, and some questions could not be asked"},
			{10, "no such application, file or directory"}, {11, "the application runs on this host"}, {13, "Kafka unreachable or access denied"},
			{14, "a group is active, things have changed since they were looked at, the cluster id differs"}, {130, "interrupted or declined"},
		}),
		Args: noArgs,
	}
	section(cmd, "What is in use", func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.topologies, "topology", nil, "text of topology.describe() of an application, `ID=FILE`, repeatable; FILE alone with one --application-id; - is stdin")
		fs.BoolVar(&f.fromLog, "from-log", false, "FILE is a log: its newest topology is taken")
		fs.Var(&f.gone, "gone", "applications that exist no more, `IDS`: they use nothing")
		fs.Var(&f.others, "other-application", "further applications, `IDS`: what may be theirs is left alone (groups and directories are known without)")
		fs.Var(&f.unused, "unused", "these `NAMES`, found to be likely or unclear, are orphans: you know")
	})
	section(cmd, "Where to look", func(fs *pflag.FlagSet) {
		fs.Var(&f.apps, "application-id", "only orphans of these applications, `IDS` (default those of --topology, --gone and --state-dir, or all of the cluster)")
		fs.StringVar(&f.stateDir, "state-dir", "", "state.dir `DIR` of this host (default topics and offsets only)")
		f.kafka.registerOptional(cmd)
	})
	section(cmd, "How", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.delete, "delete", false, "delete the orphans, after the plan was shown and confirmed")
		fs.BoolVar(&f.dryRun, "dry-run", false, "with --delete: show the plan and change nothing")
		fs.BoolVarP(&f.yes, "yes", "y", false, "with --delete: do not ask")
		fs.Var(&f.wait, "wait", "with --delete: wait this `DURATION` for members of groups to leave (default not at all)")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
		f.progress.register(cmd)
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error { return a.orphans(cmd.Context(), &f) })
	return cmd
}

// orphans is the command: facts → verdicts → report, or a plan and its
// application.
func (a *app) orphans(ctx context.Context, f *orphansFlags) error {
	if !f.delete && (f.dryRun || f.yes || f.wait != 0) {
		return op.Errorf(op.Usage, "--dry-run, --yes and --wait are of --delete; nothing is deleted without it")
	}
	o, err := f.options(a)
	if err != nil {
		return err
	}
	show := a.startProgress(f.progress)
	defer show.close()
	if o.Client, err = f.kafka.optional(ctx, show.warn); err != nil {
		return err
	}
	if o.Client != nil {
		defer o.Client.Close()
	}
	res, err := orphans.Find(ctx, o, show.sink)
	if err != nil {
		return err
	}
	if f.delete {
		return a.deleteOrphans(ctx, f, o, res, show)
	}
	show.flush()
	if err := emit(a, f.out, "inspect.orphans", *res, renderOrphans); err != nil {
		return err
	}
	if n := res.Count(orphans.Unused) + res.Count(orphans.Likely); n > 0 {
		return op.Errorf(op.Problems, "%s: nothing uses them any more, as far as is known", counted(n, "name"))
	}
	if len(res.Unmeasured) > 0 {
		return op.Errorf(op.Partial, "%s: %s%s", res.Unmeasured[0].What, res.Unmeasured[0].Why, more(len(res.Unmeasured)-1))
	}
	return nil
}

// options turns the flags into the engine's.
func (f *orphansFlags) options(a *app) (orphans.Options, error) {
	o := orphans.Options{StateDir: f.stateDir, Apps: f.apps, Gone: f.gone, Others: f.others, Unused: f.unused}
	again := slices.Clone(a.args)
	if !f.delete {
		again = append(again, "--delete")
	}
	o.Command = orphans.Command{Server: cmp.Or(f.kafka.bootstrap, "HOST:PORT"), Config: f.kafka.commandConfig, Again: human.CommandLine(append([]string{"sstool"}, again...)...)}
	if f.stateDir != "" {
		if err := checkDir("--state-dir", f.stateDir); err != nil {
			return o, err
		}
	}
	given := topology.Options{Log: f.fromLog, All: false}
	if len(f.apps) == 1 {
		given.ApplicationID = f.apps[0]
	}
	models, err := topology.Load(f.topologies, a.io.In, given)
	if err != nil {
		return o, err
	}
	for i, m := range models {
		if bad := m.Unparsed(); len(bad) > 0 && !f.fromLog {
			return o, op.Errorf(op.Usage, "%s:%d: %q is not understood: what a topology uses must be known in full", m.File, bad[0].Line, bad[0].Text).
				WithTry("give the text of topology.describe() alone, or --from-log for a log around it")
		}
		arg, err := topology.ParseArgument(f.topologies[i])
		if err != nil {
			return o, err
		}
		for j := range m.Topologies {
			t := &m.Topologies[j]
			id := cmp.Or(arg.ApplicationID, t.ApplicationID, given.ApplicationID)
			if id == "" {
				return o, op.Errorf(op.Usage, "--topology %s: of which application?", f.topologies[i]).WithTry("--topology ID=%s", strings.TrimPrefix(f.topologies[i], "="))
			}
			o.Topologies = append(o.Topologies, orphans.Topology{ApplicationID: id, From: m.File, Topology: t})
		}
	}
	return o, nil
}

// orphanDeed is how each kind is deleted.
func orphanDeed(kind string) string {
	switch kind {
	case orphans.KindTopic:
		return migrate.DeleteTopic
	case orphans.KindGroup:
		return migrate.DeleteGroup
	case orphans.KindOffsets:
		return migrate.DeleteOffsets
	case orphans.KindCheckpoint:
		return migrate.DropLines
	case orphans.KindLeftover:
		return migrate.RemoveLeftover
	}
	return migrate.RemoveDirectory
}

// orphanItems are exactly what may be deleted.
func orphanItems(res *orphans.Result) []migrate.OrphanItem {
	out := []migrate.OrphanItem{}
	for i := range res.Orphans {
		x := &res.Orphans[i]
		if x.Verdict != orphans.Unused || !x.Deletable {
			continue
		}
		item := migrate.OrphanItem{Do: orphanDeed(x.Kind), Name: x.Name, ApplicationID: x.ApplicationID, Why: x.Why, Bytes: x.Bytes, Records: x.Records,
			TopicID: x.TopicID, Ends: x.Ends, Topic: x.Topic, Partitions: x.Partitions, Owners: slices.Clone(x.Candidates)}
		if x.ApplicationID != "" && !slices.Contains(item.Owners, x.ApplicationID) {
			item.Owners = append(item.Owners, x.ApplicationID)
		}
		for _, l := range x.Lines {
			if item.Do == migrate.DropLines {
				item.AddLine(l.At(), l.Offset)
			}
		}
		out = append(out, item)
	}
	return out
}

// deleteOrphans is --delete: plan → show or ask → apply → report.
func (a *app) deleteOrphans(ctx context.Context, f *orphansFlags, o orphans.Options, res *orphans.Result, show *progress) error {
	plan, err := planOrphans(ctx, f, o, res)
	if err != nil {
		return err
	}
	show.flush()
	if f.dryRun {
		return emit(a, f.out, "orphans.delete.plan", *plan, renderOrphansPlan)
	}
	for _, text := range plan.Warnings {
		show.warn(text)
	}
	if !f.yes && !plan.Done {
		show.flush()
		if err := a.confirm(ctx, plan.Steps()); err != nil {
			return err
		}
	}
	done, err := plan.Apply(ctx, show.sink)
	show.flush()
	if done != nil {
		if werr := emit(a, f.out, "orphans.delete", *done, renderOrphansDone); werr != nil && err == nil {
			err = werr
		}
	}
	return err
}

// planOrphans plans the deletion of what was found. It looks again with the same
// engine before anything is deleted.
func planOrphans(ctx context.Context, f *orphansFlags, o orphans.Options, res *orphans.Result) (*migrate.OrphansPlan, error) {
	var client *kafka.Client = o.Client
	return migrate.PlanOrphans(ctx, client, migrate.OrphansOptions{
		Items: orphanItems(res), ClusterID: f.kafka.clusterID, StateDir: res.StateDir, Wait: time.Duration(f.wait),
		Still: func(ctx context.Context) ([]migrate.OrphanItem, error) {
			now, err := orphans.Find(ctx, o, nil)
			if err != nil {
				return nil, err
			}
			return orphanItems(now), nil
		},
	})
}
