package cmd

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/restore"
)

// restoreFlags are the flags of sstool restore.
type restoreFlags struct {
	kafka    kafkaFlags
	out      outputFlag
	progress progressFlag
	share    shareFlags

	appID, spec, topic, target                 string
	kind, guarantee                            choiceValue
	stores, tasks                              namesValue
	subtopology                                numberValue
	headers, index, global, globalCopy, source bool
	retention, interval                        durationValue
	history                                    zeroDurationValue
	partitions                                 partitionsValue

	measure, fromCheckpoint, asTarget, acceptDerived, force, skipExisting, dryRun, yes bool
	into, scratch, stateDir, toTime                                                    string
	isolation, profile                                                                 choiceValue
	toOffset, threads, repeat                                                          numberValue
	memory                                                                             memoryValue
	stall, sla                                                                         durationValue
	consumer                                                                           propertiesValue
	projectThreads                                                                     numbersValue
	projectSizes                                                                       namesValue

	follow   followFlags
	snapshot restoreSnapshotFlags

	note  string // what onlyGiven left out
	stdin io.Reader
}

func (f *restoreFlags) register(cmd *cobra.Command) {
	section(cmd, "Which cluster", func(*pflag.FlagSet) { f.kafka.register(cmd) })
	section(cmd, "What to restore", f.registerWhat)
	section(cmd, "What is known of the store", f.registerKnown)
	section(cmd, "Where to", f.registerTarget)
	section(cmd, "From a snapshot", f.snapshot.register)
	section(cmd, "Shared by several processes", f.share.register)
	section(cmd, "How far and how", f.registerHow)
	section(cmd, "Going on as a standby", f.follow.register)
	section(cmd, "The report", func(fs *pflag.FlagSet) {
		fs.Var(&f.sla, "sla", "compare the time with this limit and exit 3 when it is missed")
		f.repeat.min = 1
		fs.Var(&f.repeat, "repeat", "measure `N` times: min, median, max (default 1)")
		fs.Var(&f.projectThreads, "project-threads", "project the time for `N,N` restore threads (default 1,2,4,8)")
		fs.Var(&f.projectSizes, "project-size", "project the time for changelogs of `SIZE,SIZE`")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
		f.progress.register(cmd)
	})
	for flag, v := range map[string]choiceValue{"kind": f.kind, "processing-guarantee": f.guarantee, "isolation": f.isolation, "profile": f.profile} {
		complete(cmd, flag, v.choices)
	}
}

func (f *restoreFlags) registerWhat(fs *pflag.FlagSet) {
	fs.StringVar(&f.appID, "application-id", "", "application.id of the Kafka Streams application, `ID`")
	fs.Var(&f.stores, "store", "the store's `NAME`; with --spec only these stores of it")
	fs.StringVar(&f.spec, "spec", "", "store specification `FILE` of the whole application; sstool spec writes it, as YAML or JSON; - is stdin")
	fs.StringVar(&f.topic, "topic", "", "exact changelog `TOPIC` instead of <application-id>-<store>-changelog")
	fs.Var(&f.partitions, "partitions", "only these partitions: 0,2-5")
	fs.Var(&f.tasks, "task", "only this `TASK`: 1_3")
}

func (f *restoreFlags) registerKnown(fs *pflag.FlagSet) {
	f.kind.choices = strings.Split(kindNames(), " ")
	f.guarantee.choices = []string{string(restore.AtLeastOnce), string(restore.ExactlyOnce)}
	f.subtopology.max = math.MaxInt32
	fs.Var(&f.kind, "kind", "`KIND` of the store: "+kindNames())
	fs.Var(&f.subtopology, "subtopology", "`NUMBER` of its sub-topology, the first part of the task directory's name")
	fs.Var(&f.retention, "retention", "retention of a window or session store")
	fs.Var(&f.interval, "segment-interval", "segment interval of a window, session or versioned store")
	fs.Var(&f.history, "history-retention", "history retention of a versioned store")
	fs.BoolVar(&f.headers, "headers", false, "it keeps record headers (Kafka 4.3 and later, dsl.store.format=HEADERS)")
	fs.BoolVar(&f.index, "with-index", false, "a time-ordered-window store of a sliding window: it has index rows")
	fs.BoolVar(&f.source, "source-topic", false, "the topic is the application's input (optimised KTable): restored to the committed offset")
	fs.BoolVar(&f.global, "global", false, "a global store: goes to global/, from all partitions of --topic")
	fs.BoolVar(&f.globalCopy, "global-copy", false, "a global store whose rows are the topic's records (global: copy in a spec)")
	fs.Var(&f.guarantee, "processing-guarantee", "processing `GUARANTEE` of the application: at_least_once or exactly_once_v2")
	fs.StringVar(&f.target, "target-kafka", "", "Kafka `VERSION` of the application that will open the result: 3.0 to 4.4")
	fs.StringVar(&f.stateDir, "state-dir", "", "existing state.dir `DIR` of the application: tells kinds and sub-topologies; the stores to resume for --measure --from-checkpoint")
	fs.BoolVar(&f.acceptDerived, "accept-derived", false, "let --into write what is derived from the topic's configuration")
}

func (f *restoreFlags) registerTarget(fs *pflag.FlagSet) {
	fs.BoolVar(&f.measure, "measure", false, "time the replay; without --into in a scratch directory that is removed afterwards")
	fs.StringVar(&f.into, "into", "", "build the state directory `DIR`, state.dir of the application")
	fs.StringVar(&f.scratch, "scratch", "", "`DIR` for scratch directories (default the system's temporary directory)")
	fs.BoolVar(&f.skipExisting, "skip-existing", false, "leave stores that are there as they are and restore the rest (under exactly-once: leave their whole task)")
	fs.BoolVar(&f.force, "force", false, "move a non-empty store aside instead of refusing it")
	fs.BoolVar(&f.dryRun, "dry-run", false, "show the plan and change nothing")
	fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask before existing stores are moved aside or resumed")
}

func (f *restoreFlags) registerHow(fs *pflag.FlagSet) {
	fs.BoolVar(&f.fromCheckpoint, "from-checkpoint", false, "resume existing stores from their checkpoints")
	fs.Var(&f.toOffset, "to-offset", "stop before this `OFFSET`; the result is a scratch copy")
	fs.StringVar(&f.toTime, "to-time", "", "stop at the first record of this `TIME` (RFC 3339 or epoch ms) or later; the result is a scratch copy")
	f.isolation.choices = []string{"read_committed", "read_uncommitted"}
	f.profile.choices = []string{string(restore.Streams), string(restore.Bulk)}
	f.threads.min, f.threads.max = 1, maxPartition
	fs.Var(&f.isolation, "isolation", "isolation `LEVEL`: read_committed or read_uncommitted (default as the processing guarantee says)")
	fs.BoolVar(&f.asTarget, "as-target", false, "begin windowed replays where the target version would (4.4: last timestamp minus retention)")
	fs.Var(&f.profile, "profile", "`PROFILE` streams replays as Kafka Streams does, bulk is the fastest way to the same rows (default streams for --measure, also with --into; bulk for --into alone)")
	fs.Var(&f.consumer, "consumer-property", "restore consumer setting under its Java name, repeatable: restore.consumer.max.poll.records=500")
	fs.Var(&f.threads, "threads", "replay `N` partitions in parallel (default as many as cores)")
	fs.Var(&f.memory, "memory", "memory budget of the bulk profile (default 256MiB)")
	fs.Var(&f.stall, "stall-timeout", "give up after this long without progress (default 1m)")
}

func kindNames() string {
	var names []string
	for _, k := range streams.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, " ")
}

// onlyGiven lets --measure or --into of the command line win over the other one
// of the environment: a flag that says "measure" never writes. It returns what
// it left out, for a warning.
func (f *restoreFlags) onlyGiven(given map[string]bool) (note string) {
	switch {
	case !f.measure || f.into == "" || given["measure"] == given["into"]:
	case given["measure"]:
		note = fmt.Sprintf("%s is not used: --measure alone writes nothing (give --into DIR to build and measure)", envName("into"))
		f.into = ""
	default:
		note = fmt.Sprintf("%s is not used: --into builds the state directory (give --measure too to build and measure)", envName("measure"))
		f.measure = false
	}
	return note
}

// documentKind is the kind of the result document.
func (f *restoreFlags) documentKind() string {
	if f.into != "" {
		return "restore.into"
	}
	return "restore.measure"
}

// options turns the flags into the engine's options.
func (f *restoreFlags) options(warn func(string)) (restore.Options, error) {
	o := restore.Options{
		ApplicationID: f.appID, Guarantee: restore.Guarantee(f.guarantee.value),
		Into: f.into, Scratch: f.scratch, StateDir: f.stateDir, Force: f.force, SkipExisting: f.skipExisting, Profile: restore.Profile(f.profile.value),
		Threads: int(f.threads.or(0)), Memory: int64(f.memory), AsTarget: f.asTarget, StallTimeout: time.Duration(f.stall),
		FromCheckpoint: f.fromCheckpoint, ToOffset: f.toOffset.or(-1), Isolation: f.isolation.value, AcceptDerived: f.acceptDerived,
		Measure: f.measure, SLA: time.Duration(f.sla), Repeat: int(f.repeat.or(1)), Project: f.projectThreads, Partitions: f.partitions,
	}
	if f.measure && f.into != "" && o.Profile == "" {
		o.Profile = restore.Streams // measuring is what Kafka Streams would do, wherever it is built
	}
	var err error
	if f.topic != "" {
		if err := streams.ValidateTopic(f.topic); err != nil {
			return o, fmt.Errorf("--topic: %w", err)
		}
	}
	for flag, dir := range map[string]string{"--into": f.into, "--scratch": f.scratch, "--state-dir": f.stateDir} {
		if err := checkDir(flag, dir); err != nil {
			return o, err
		}
	}
	if f.target != "" {
		if o.Target, err = streams.ParseVersion(f.target); err == nil {
			err = o.Target.CheckTarget()
		}
		if err != nil {
			return o, fmt.Errorf("--target-kafka: %w", err)
		}
	}
	for _, s := range f.tasks {
		id, err := streams.ParseTaskID(s)
		if err != nil {
			return o, fmt.Errorf("--task: %w", err)
		}
		o.Tasks = append(o.Tasks, id)
	}
	if o.ToTime, err = parseTime(f.toTime); err != nil {
		return o, err
	}
	for _, s := range f.projectSizes {
		n, err := parseBytes(s)
		if err == nil && n == 0 {
			err = fmt.Errorf("%q is nothing", s)
		}
		if err != nil {
			return o, op.Errorf(op.Usage, "--project-size: %w", err)
		}
		o.ProjectFor = append(o.ProjectFor, n)
	}
	for flag, d := range map[string]durationValue{"retention": f.retention, "segment-interval": f.interval, "history-retention": f.history.durationValue} {
		if time.Duration(d)%time.Millisecond != 0 {
			return o, op.Errorf(op.Usage, "--%s: Kafka Streams counts in milliseconds", flag)
		}
	}
	if o.Consumer, err = f.consumerSettings(warn); err != nil {
		return o, err
	}
	return o, f.addStores(&o, warn)
}

// consumerKeys are the consumer settings that a replay heeds.
var consumerKeys = []string{"max.poll.records", "max.partition.fetch.bytes", "fetch.max.bytes"}

// consumerSettings are --consumer-property without their Java prefixes, the
// most specific one winning as in StreamsConfig.getRestoreConsumerConfigs.
func (f *restoreFlags) consumerSettings(warn func(string)) (map[string]string, error) {
	given, err := f.consumer.parse("consumer-property")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, prefix := range []string{"", "consumer.", "restore.consumer."} {
		for key, value := range given {
			name, ok := strings.CutPrefix(key, prefix)
			if !ok || prefix == "" && (strings.HasPrefix(key, "consumer.") || strings.HasPrefix(key, "restore.consumer.")) {
				continue
			}
			if !slices.Contains(consumerKeys, name) {
				warn(fmt.Sprintf("--consumer-property %s has no effect on a replay here; known: %s", name, strings.Join(consumerKeys, ", ")))
				continue
			}
			if _, err := parseNumber(value, 1, math.MaxInt32); err != nil {
				return nil, op.Errorf(op.Usage, "--consumer-property %s: expected a number from 1 to %d", name, math.MaxInt32)
			}
			out[name] = value
		}
	}
	return out, nil
}

// parseTime reads RFC 3339 or milliseconds since 1970; "" is no time.
func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseInt(s, 10, 64)
	t := time.UnixMilli(ms)
	if err != nil {
		t, err = time.Parse(time.RFC3339, s)
	}
	if err == nil && t.UnixMilli() < 0 {
		return t, op.Errorf(op.Usage, "--to-time %q is before 1970", s)
	}
	if err != nil {
		return t, op.Errorf(op.Usage, "--to-time %q is neither RFC 3339 (2026-11-29T16:00:00Z) nor milliseconds since 1970", s)
	}
	return t, nil
}
