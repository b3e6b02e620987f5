package cmd

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect/lint"
	"sstool/internal/kafka"
	"sstool/internal/op"
)

const lintLong = `Judges the names and the shape of topologies before they are deployed: names that
collide, generated names that shift with the next change and lose their state,
topics that cannot be created, joins that are not co-partitioned. Each finding has
the line, and the call that cures it.

FILE holds the text of Topology#describe(), in any wrapping that people have it in
(logs, comments, JSON of Spring's actuator); - is stdin. APP=FILE says whose it is;
several are also compared with each other. Nothing else is read unless it is asked
for on the command line: --bootstrap-server (or --context) compares with the topics
of a cluster, --state-dir with the stores on disk. Without FILE, a cluster and
--application-id judge what the brokers hold of an application that runs with
group.protocol=streams.

Rules, severities, ignores and a naming convention are set in .sstool-lint.yaml, in
the directory of FILE or above it. --explain RULE says what a rule is about.`

const lintExample = `  sstool lint topology.txt --application-id orders
  sstool lint orders=orders.txt billing=billing.txt -o github
  ./print-topology.sh | sstool lint - --application-id orders --fail-on warning

  # Accept what there is, and fail on what comes.
  sstool lint topology.txt --application-id orders --write-baseline lint-baseline.json
  sstool lint topology.txt --application-id orders --baseline lint-baseline.json

  # Against what runs: existing topics, partition counts, directories.
  sstool lint topology.txt --application-id orders --bootstrap-server localhost:9092 --state-dir /var/lib/kafka-streams

  # What the brokers hold of a running application with group.protocol=streams.
  sstool lint --application-id orders --bootstrap-server localhost:9092

  sstool lint --explain C8`

// Formats of lint that no other command has.
const (
	formatSARIF  format = "sarif"
	formatGitHub format = "github"
	formatJUnit  format = "junit"
)

// lintFlags are the flags of sstool lint.
type lintFlags struct {
	kafka kafkaFlags
	out   outputFlag

	appID, stateDir, partitions string
	fromLog, all                bool
	sampleKeys                  numberValue

	config, explain         string
	rules                   namesValue
	failOn                  choiceValue
	optimization            choiceValue
	baseline, writeBaseline string
}

func newLint(a *app) *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:     "lint [[APP=]FILE…]",
		Short:   "judge names and topologies before they are deployed",
		Long:    lintLong,
		Example: lintExample,
		Annotations: exits([]exit{
			{0, "nothing as severe as --fail-on"}, {1, "failed"}, {2, "wrong flags, or a text, configuration or baseline that cannot be used"},
			{3, "findings as severe as --fail-on"}, {10, "no such file, directory or group"}, {13, "Kafka unreachable or access denied"}, {14, "the cluster id differs, or the brokers hold no topology of the group"},
		}),
		Args: cobra.ArbitraryArgs,
	}
	section(cmd, "What is judged", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.appID, "application-id", "", "application.id of the one FILE, or of the group whose topology brokers hold, `ID`")
		fs.BoolVar(&f.fromLog, "from-log", false, "FILE is a log: lines around topologies are not reported")
		fs.BoolVar(&f.all, "all", false, "all topologies of a FILE that has several (default the last)")
	})
	section(cmd, "What it is compared with", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.partitions, "topic-partitions", "", "`FILE` with a line \"TOPIC PARTITIONS\" for each topic")
		fs.StringVar(&f.stateDir, "state-dir", "", "state.dir `DIR` with the stores on disk")
		f.kafka.registerOptional(cmd)
		f.sampleKeys.min, f.sampleKeys.max = 1, 1_000_000
		fs.Var(&f.sampleKeys, "sample-keys", "look at the newest `N` keys of each partition of the sources: are they where the default partitioner puts them?")
	})
	section(cmd, "Rules", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.explain, "explain", "", "say what `RULE` is about, and nothing else; all lists the rules")
		fs.Var(&f.rules, "rules", "only these `RULES`: C8,N1")
		fs.StringVar(&f.config, "lint-config", "", "configuration `FILE` (default .sstool-lint.yaml in the directory of FILE or above)")
		f.optimization.choices = []string{"all", "none"}
		fs.Var(&f.optimization, "topology-optimization", "topology.optimization of the application, `HOW`: all or none")
		f.failOn.value, f.failOn.choices = "error", []string{"error", "warning", "info", "never"}
		fs.Var(&f.failOn, "fail-on", "exit with 3 from this `SEVERITY` on: error, warning, info; never")
		fs.StringVar(&f.baseline, "baseline", "", "`FILE` with accepted findings: they are not reported")
		fs.StringVar(&f.writeBaseline, "write-baseline", "", "accept all findings, write them to `FILE`")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatSARIF, formatGitHub, formatJUnit)
	})
	complete(cmd, "fail-on", f.failOn.choices)
	complete(cmd, "topology-optimization", f.optimization.choices)
	complete(cmd, "explain", ruleIDs())
	complete(cmd, "rules", ruleIDs())
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		if f.explain != "" {
			return a.explainRule(&f, args)
		}
		return a.lint(cmd, &f, args)
	})
	return cmd
}

// lint is the command: texts and facts → findings → one of their faces.
func (a *app) lint(cmd *cobra.Command, f *lintFlags, args []string) error {
	// The command is over before garbage counts: a topology of 5,000 nodes makes
	// 9 MB. A text that is made to be large must not make a gigabyte.
	percent, limit := debug.SetGCPercent(800), debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, 256<<20))
	if !a.io.Exits { // to set it back begins a collection
		defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }()
	}
	warn := func(text string) { a.warn(cmd, text) }
	o, err := a.lintOptions(cmd.Context(), f, args, warn)
	if err != nil {
		return err
	}
	res, err := lint.Lint(cmd.Context(), *o)
	if err != nil {
		return err
	}
	if f.writeBaseline != "" {
		return writeBaseline(f.writeBaseline, res, warn)
	}
	if n := len(res.Gone); n > 0 {
		warn(fmt.Sprintf("%s: findings that are gone: %d; --write-baseline %s drops them", f.baseline, n, f.baseline))
	}
	if err := a.emitLint(f, res); err != nil {
		return err
	}
	return f.verdict(res)
}

// emitLint writes the findings in the format that was asked for.
func (a *app) emitLint(f *lintFlags, res *lint.Result) error {
	switch f.out.value {
	case formatSARIF:
		return a.emitSARIF(res)
	case formatGitHub:
		return a.emitGitHub(res)
	case formatJUnit:
		return a.emitJUnit(res, f.failOn.value)
	}
	return emit(a, f.out, "lint", *res, renderLint)
}

// verdict is the exit code, as an error.
func (f *lintFlags) verdict(res *lint.Result) error {
	if f.failOn.value == "never" {
		return nil
	}
	from, n := lint.Severity(f.failOn.value), 0
	for _, x := range res.Findings {
		if x.Severity.AtLeast(from) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return op.Errorf(op.Problems, "%s: %s", lintFindings(n), strings.Join(lintCounts(res.Counts), ", "))
}

func lintFindings(n int) string {
	if n == 1 {
		return "1 finding to mend"
	}
	return fmt.Sprintf("%d findings to mend", n)
}

// lintCounts are the counts that are not zero, as people say them.
func lintCounts(c lint.Counts) []string {
	var out []string
	for _, x := range []struct {
		n         int
		one, many string
	}{
		{c.Errors, "error", "errors"}, {c.Warnings, "warning", "warnings"}, {c.Infos, "note", "notes"}, {c.Suppressed, "accepted", "accepted"},
	} {
		switch {
		case x.n == 1:
			out = append(out, "1 "+x.one)
		case x.n > 1:
			out = append(out, fmt.Sprintf("%d %s", x.n, x.many))
		}
	}
	return out
}

// lintOptions reads everything that was named.
func (a *app) lintOptions(ctx context.Context, f *lintFlags, args []string, warn func(string)) (*lint.Options, error) {
	o := &lint.Options{Now: time.Now()}
	for _, s := range f.rules {
		r, ok := lint.FindRule(s)
		if !ok {
			return nil, unknownRule(s)
		}
		o.Only = append(o.Only, r.ID)
	}
	if err := checkDir("--state-dir", f.stateDir); err != nil {
		return nil, err
	}
	var err error
	if f.baseline != "" {
		if o.Baseline, err = readBaseline(f.baseline); err != nil {
			return nil, err
		}
	}
	asks := a.asksCluster(&f.kafka)
	if len(args) > 0 || !asks {
		o.Inputs, err = a.lintInputs(f, args)
	} else {
		err = whoseTopology(f.appID)
	}
	if err != nil {
		return nil, err
	}
	var client *kafka.Client
	if asks {
		if client, err = f.kafka.open(ctx, warn); err != nil {
			return nil, err
		}
		defer client.Close()
	}
	if len(args) == 0 {
		if o.Inputs, err = a.lintHeld(ctx, f, client); err != nil {
			return nil, err
		}
	}
	return o, a.lintFacts(ctx, f, client, o, warn)
}

func readBaseline(path string) (*lint.Baseline, error) {
	file, err := openText("baseline", path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return lint.ReadBaseline(path, file)
}

func writeBaseline(path string, res *lint.Result, say func(string)) error {
	var text strings.Builder
	b := lint.NewBaseline(res)
	if err := b.Write(&text); err != nil {
		return op.Errorf(op.Failed, "write baseline: %w", err)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return op.Errorf(op.Failed, "write baseline: %w", err)
	}
	say(fmt.Sprintf("%s: findings accepted: %d", path, len(b.Findings)))
	return nil
}
