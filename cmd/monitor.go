package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect/monitor"
	"sstool/internal/op"
)

const monitorLong = `Holds the metrics of running applications against the thresholds of the monitoring
checklist: hits of the block cache, keys that grow without an end, compaction and
restoring that fall behind, write stalls, flushes, sizes, and the time that a
restoration takes.

URL is a Prometheus endpoint of an instance, FILE a saved page of one, packed or
not (- is standard input); each more is another instance. Names are known as the JMX exporter writes them
(without rules, and with the usual ones), as Micrometer and Spring Boot do, and as
OpenTelemetry writes those of KIP-714.

One look tells values. Growth takes two: --since takes in a page that was saved
before (--save, or any other), --for looks again and again. What could not be
measured is said to be, with the cause, and is never ok: half of RocksDB's metrics
are only there with metrics.recording.level=DEBUG.

The thresholds are in a file: sstool monitor rules --defaults writes it, and
sstool monitor rules makes alert rules for Prometheus of them.`

const monitorExample = `  sstool monitor http://orders-0:9404/metrics http://orders-1:9404/metrics
  sstool monitor http://orders-0:8080/actuator/prometheus --for 15m
  curl -s http://orders-0:9404/metrics > page.txt; sstool monitor page.txt --all

  # By cron: against what was saved, up to an hour of it.
  sstool monitor http://orders-0:9404/metrics --since last.prom --save last.prom -o json

  # Is a restoration within the SLA? By a measured one.
  sstool restore --measure --bootstrap-server localhost:9092 --application-id orders --spec orders.yaml -o json > restore.json
  sstool monitor http://orders-0:9404/metrics --sla 10m --restore-report restore.json`

// monitorFlags are the flags of sstool monitor.
type monitorFlags struct {
	user, passwordFile, tokenFile, caFile string
	timeout, every, duration, sla         durationValue
	since, save, thresholds, report       string
	watch, all                            bool
	out                                   outputFlag
	progress                              progressFlag
}

func newMonitor(a *app) *cobra.Command {
	f := monitorFlags{timeout: durationValue(10 * time.Second), every: durationValue(15 * time.Second)}
	cmd := &cobra.Command{
		Use:     "monitor URL|FILE…",
		Short:   "hold the metrics of running applications against thresholds",
		Long:    monitorLong,
		Example: monitorExample,
		Annotations: exits([]exit{
			{0, "ok: no threshold is missed, as far as it could be measured"}, {1, "failed"}, {2, "wrong flags, or no page of metrics"},
			{3, "a threshold is missed"}, {4, "no threshold is missed, but some instances did not answer"},
			{10, "no such file or page"}, {13, "no endpoint answers, or access is denied"}, {130, "interrupted"},
		}),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return op.Errorf(op.Usage, "no endpoint and no saved page to look at").WithTry("sstool monitor http://HOST:9404/metrics")
			}
			return nil
		},
	}
	section(cmd, "Over time", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.since, "since", "", "take in what `FILE` holds of earlier, if there is such a file")
		fs.StringVar(&f.save, "save", "", "save what was seen to `FILE`, for --since: as much as the longest window needs")
		fs.Var(&f.duration, "for", "look again and again for a `DURATION`, and judge all of it")
		fs.Var(&f.every, "every", "look every `DURATION`, with --for and --watch")
		fs.BoolVar(&f.watch, "watch", false, "show what is seen each time, until interrupted or as long as --for says")
	})
	section(cmd, "Thresholds", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.thresholds, "thresholds", "", "thresholds of a `FILE` (default those of sstool monitor rules --defaults)")
		fs.Var(&f.sla, "sla", "a restoration may take this long: `DURATION`")
		fs.StringVar(&f.report, "restore-report", "", "what sstool restore --measure -o json wrote: `FILE`")
	})
	section(cmd, "Access", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.user, "user", "", "basic authentication as `NAME`")
		fs.StringVar(&f.passwordFile, "password-file", "", "its password is in `FILE` (or in the environment: SSTOOL_PASSWORD)")
		fs.StringVar(&f.tokenFile, "bearer-token-file", "", "a bearer token is in `FILE` (or in the environment: SSTOOL_BEARER_TOKEN)")
		fs.StringVar(&f.caFile, "ca-file", "", "trust the certificates in `FILE` (PEM) with https")
		fs.Var(&f.timeout, "timeout", "an endpoint must answer within `DURATION`")
	})
	section(cmd, "Output", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.all, "all", false, "show the values that are ok, too")
		f.out.register(cmd, formatTable, formatJSON, formatJSONL)
		f.progress.register(cmd)
	})
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.monitor(cmd.Context(), &f, args) })
	cmd.AddCommand(newMonitorRules(a))
	return cmd
}

// monitor is the command: sources → history → result → one of its faces.
func (a *app) monitor(ctx context.Context, f *monitorFlags, args []string) error {
	access, err := a.monitorAccess(f)
	if err != nil {
		return err
	}
	o, err := monitorOptions(f)
	if err != nil {
		return err
	}
	sources, err := monitor.Open(args, access)
	if err != nil {
		return err
	}
	if err := f.check(sources); err != nil {
		return err
	}
	if err := f.checkSave(ctx, args); err != nil {
		return err
	}
	m := monitor.New(sources)
	if err := f.earlier(ctx, m); err != nil {
		return err
	}
	res, err := a.monitorRounds(ctx, f, m, o)
	if f.save != "" && m.Seen() && (err == nil || ctx.Err() != nil) { // interrupted, too: --watch has no other end
		if err := saveHistory(f.save, m, o); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return monitorVerdict(res)
}

// monitorVerdict is the error that a result ends with: a missed threshold
// matters more than an instance that did not answer.
func monitorVerdict(r *monitor.Result) error {
	if n := r.Summary.Missed(); n > 0 {
		return op.Errorf(op.Problems, "%s missed", counted(n, "threshold"))
	}
	for _, s := range r.Sources {
		if s.Error != "" {
			return op.Errorf(op.Partial, "monitor: %s", s.Error)
		}
	}
	return nil
}
