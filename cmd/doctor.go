package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect/doctor"
	"sstool/internal/op"
)

const doctorLong = `Says what will happen to an application before it happens, and what to do: what the
next start does with every task and store (resume, replay, wipe), what an upgrade or
a downgrade would do, whether changelogs, host and configuration are as they should
be. Each check says ok, warning, problem, or unmeasured with the cause.

It looks at whatever it is given: a state directory (--state-dir), the cluster
(--bootstrap-server), the topology (--topology), the application's properties
(--app-config), its log (--log). Nothing is changed and no lock is taken.`

const doctorExample = `  sstool doctor --state-dir /var/lib/kafka-streams --application-id orders --bootstrap-server localhost:9092

  # With times, from a measured restore; before an upgrade; everything that can be looked at; one area; for a program.
  sstool restore --measure --application-id orders --bootstrap-server localhost:9092 -o json > measured.json
  sstool doctor --state-dir /var/lib/kafka-streams --bootstrap-server localhost:9092 --report measured.json
  sstool doctor --state-dir /var/lib/kafka-streams --target-version 4.4
  sstool doctor --state-dir /var/lib/kafka-streams --bootstrap-server localhost:9092 --topology topology.txt --app-config streams.properties
  sstool doctor --state-dir /var/lib/kafka-streams --area restart --processing-guarantee exactly_once_v2
  sstool doctor --state-dir /var/lib/kafka-streams -o json

  # The checklist for a review, and where the last start's time went.
  sstool doctor --checklist --state-dir /var/lib/kafka-streams --topology topology.txt --app-config application.yaml --report measured.json --sla 15m > review.md
  sstool doctor --area start --log /var/log/orders.log`

// doctorFlags are the flags of sstool doctor.
type doctorFlags struct {
	kafka     kafkaFlags
	stateDir  string
	also      []string
	appID     string
	topology  string
	config    string
	version   string // of Kafka Streams
	target    string // of Kafka Streams
	guarantee choiceValue
	rate      numberValue
	report    string
	areas     namesValue
	checks    namesValue
	list      bool
	log       string
	sla       durationValue
	checklist bool
	out       outputFlag
}

func newDoctor(a *app) *cobra.Command {
	f := doctorFlags{rate: numberValue{min: 1}}
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "say what the next start, an upgrade or a downgrade will do, and what to do about it",
		Long:    doctorLong,
		Example: doctorExample,
		Annotations: exits([]exit{
			{0, "ok: no warning and no problem; what could not be measured does not change it"}, {1, "failed"}, {2, "wrong flags, or unusable input"},
			{3, "warnings or problems were found"}, {10, "no such file or directory"}, {13, "Kafka unreachable or access denied; the rest is told all the same"}, {14, "the cluster id differs"}, {130, "interrupted"},
		}),
		Args: noArgs,
	}
	section(cmd, "What to look at", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.stateDir, "state-dir", "", "the application's state.dir, `DIR`")
		fs.StringVar(&f.appID, "application-id", "", "application.id, `ID`")
		fs.StringVar(&f.topology, "topology", "", "`FILE` with the text of topology.describe()")
		fs.StringArrayVar(&f.also, "also", nil, "state.dir of another host, `DIR`, to compare with; repeatable")
		fs.StringVar(&f.config, "app-config", "", "the application's properties, `FILE`: a Java properties file, also Spring's and Quarkus', or Spring's YAML")
		fs.StringVar(&f.log, "log", "", "the application's log, `FILE`, to tell where the time of its last start went, packed by gzip or not; - is standard input")
	})
	section(cmd, "Which cluster", func(*pflag.FlagSet) { f.kafka.registerOptional(cmd) })
	section(cmd, "What starts next", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.version, "kafka-version", "", "`VERSION` of Kafka Streams that starts next (default as the stores tell)")
		fs.StringVar(&f.target, "target-version", "", "`VERSION` of an upgrade or a downgrade to judge: 4.4")
		f.guarantee.choices = []string{"at_least_once", "exactly_once_v2"}
		fs.Var(&f.guarantee, "processing-guarantee", "processing `GUARANTEE` of the application: at_least_once or exactly_once_v2 (default as --app-config says, else as it ran last)")
		fs.Var(&f.rate, "rate", "records a restore takes in a second, to predict times, `RECORDS`")
		fs.StringVar(&f.report, "report", "", "saved sstool restore --measure -o json, for the rate of each kind of store, `FILE`")
		fs.Var(&f.sla, "sla", "how long a restore may take, `DURATION`; --report says how long it does")
	})
	section(cmd, "How", func(fs *pflag.FlagSet) {
		fs.Var(&f.areas, "area", "only checks of these `AREAS`: "+strings.Join(doctor.Areas(), ", "))
		fs.Var(&f.checks, "check", "only these `CHECKS`, by id; --list shows them")
		fs.BoolVar(&f.checklist, "checklist", false, "the practical checklist alone, as Markdown for a review")
		fs.BoolVar(&f.list, "list", false, "list the checks, and look at nothing")
		f.out.register(cmd, formatTable, formatWide, formatJSON)
	})
	complete(cmd, "area", doctor.Areas())
	complete(cmd, "check", checkIDs())
	complete(cmd, "processing-guarantee", f.guarantee.choices)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		if f.list {
			return a.listChecks(f.out)
		}
		return a.doctor(cmd.Context(), &f)
	})
	return cmd
}

// doctor is the command: flags → facts → findings → report.
func (a *app) doctor(ctx context.Context, f *doctorFlags) error {
	o, err := a.doctorOptions(f)
	if err != nil {
		return err
	}
	if f.log != "" {
		log, err := a.openLog(f.log)
		if err != nil {
			return err
		}
		defer log.Close()
		o.Log, o.LogName = log, f.log
	}
	show := a.startProgress(progressFlag{"none"})
	defer show.close()
	if o.Client, err = f.kafka.optional(ctx, show.warn); o.Client != nil {
		defer o.Client.Close()
	}
	if err != nil {
		if op.KindOf(err) != op.Unreachable {
			return err
		}
		o.ClientErr = err
	}
	res, err := doctor.Run(ctx, o, show.sink)
	if err != nil {
		return err
	}
	if f.checklist {
		err = emit(a, f.out, "inspect.doctor.checklist", checklistOf(res), renderChecklist)
	} else {
		err = emit(a, f.out, "inspect.doctor", res, renderDoctor)
	}
	if err != nil {
		return err
	}
	switch {
	case o.ClientErr != nil:
		return o.ClientErr
	case res.Count.Warnings+res.Count.Problems > 0:
		return op.Errorf(op.Problems, "%s, %s", counted(res.Count.Problems, "problem"), counted(res.Count.Warnings, "warning"))
	}
	return nil
}
