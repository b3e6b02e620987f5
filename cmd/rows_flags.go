package cmd

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

// rowsFlags are what get and scan share: where the rows are, what is known of
// them, and how they are shown.
type rowsFlags struct {
	kafka    kafkaFlags
	out      outputFlag
	progress progressFlag

	stateDir, appID, store, topic string
	tasks                         namesValue
	partition                     partitionsValue
	kind                          choiceValue
	windowSize                    durationValue
	key, foreignKey, value        serdeValue
	query                         string
	timeFrom, timeTo              timeValue
	limit                         numberValue
	memory                        memoryValue
	deleted, keepGoing            bool
}

func (f *rowsFlags) registerWhere(cmd *cobra.Command) {
	section(cmd, "Which rows are read", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.stateDir, "state-dir", "", "state.dir `DIR` of the application; STORE is a name then")
		fs.StringVar(&f.appID, "application-id", "", "application.id of the Kafka Streams application, `ID`")
		fs.StringVar(&f.store, "store", "", "the store's `NAME`, when STORE is a directory with several")
		fs.Var(&f.tasks, "task", "only this `TASK`: 1_3, or global")
		fs.Var(&f.partition, "partition", "only these partitions: 0,2-5")
		fs.StringVar(&f.topic, "topic", "", "read this changelog `TOPIC` as the table it is, instead of a store")
		f.kafka.registerOptional(cmd)
	})
}

func (f *rowsFlags) registerHow(cmd *cobra.Command, more func(fs *pflag.FlagSet)) {
	section(cmd, "What is known of them", func(fs *pflag.FlagSet) {
		f.kind.choices = strings.Split(kindNames(), " ")
		fs.Var(&f.key, "key", "how keys are decoded: `DECODER` "+strings.Join(serde.Names(), ", ")+" (default as they look)")
		fs.Var(&f.value, "value", "how values are decoded: `DECODER`, as for --key")
		fs.Var(&f.foreignKey, "foreign-key", "how foreign keys of an fk-subscription store are decoded: `DECODER`")
		fs.Var(&f.kind, "kind", "`KIND` of the store (default as its files tell; of a topic kv): "+kindNames())
		fs.Var(&f.windowSize, "window-size", "size of the windows, which no store keeps: tells where they end")
	})
	section(cmd, "What is shown", func(fs *pflag.FlagSet) {
		fs.Var(&f.timeFrom, "time-from", "only rows of this `TIME` (RFC 3339 or epoch ms) or later: start of a window, end of a session, begin of a version, else the record's timestamp")
		fs.Var(&f.timeTo, "time-to", "only rows of this `TIME` or earlier")
		more(fs)
		f.limit.min = 1
		fs.Var(&f.limit, "limit", "stop after `N` rows")
		fs.BoolVar(&f.deleted, "include-deleted", false, "of a topic: show deleted keys too")
		fs.BoolVar(&f.keepGoing, "keep-going", false, "of a damaged store: read it without the files that are missing or cut off, and past corrupt blocks; older and deleted rows may show")
		fs.StringVar(&f.query, "query", "", "jq `EXPRESSION` over each row, as -o jsonl has it; its results are shown")
		fs.Var(&f.memory, "memory", "memory budget for --topic (default 256MiB)")
		f.out.register(cmd, formatTable, formatJSON, formatJSONL, formatCSV)
		f.progress.register(cmd)
	})
	complete(cmd, "kind", f.kind.choices)
	var plain []string
	for _, n := range serde.Names() {
		plain = append(plain, strings.TrimSuffix(n, "X)"))
	}
	for _, name := range []string{"key", "value", "foreign-key"} {
		complete(cmd, name, plain)
	}
}

// arguments splits the arguments: STORE, unless a topic is read, and as many
// more. A STORE wins over a topic, and over the name of a store, that only the
// environment or a context names.
func (f *rowsFlags) arguments(a *app, cmd *cobra.Command, args []string, more int) (store string, rest []string, err error) {
	if len(args) == more+1 && !a.given["topic"] {
		f.topic = ""
		if !a.given["store"] {
			f.store = ""
		}
		return args[0], args[1:], nil
	}
	if len(args) == more && f.topic != "" {
		for name, value := range map[string]*string{"state-dir": &f.stateDir, "store": &f.store} {
			if !a.given[name] {
				*value = ""
			}
		}
		return "", args, nil
	}
	what := cmd.Use + ", or --topic TOPIC instead of STORE"
	return "", nil, op.Errorf(op.Usage, "%d arguments given, expected %s", len(args), what)
}

// check refuses flags that contradict each other.
func (f *rowsFlags) check() error {
	if f.topic != "" {
		for name, given := range map[string]bool{"--state-dir": f.stateDir != "", "--store": f.store != "", "--task": len(f.tasks) > 0, "--keep-going": f.keepGoing} {
			if given {
				return op.Errorf(op.Usage, "%s and --topic: a topic is read without any directory", name)
			}
		}
		return streams.ValidateTopic(f.topic)
	}
	if f.deleted {
		return op.Errorf(op.Usage, "--include-deleted: a store does not keep what is deleted, only a topic does").
			WithTry("--topic with the changelog; of a versioned store --history shows deletions")
	}
	if d := time.Duration(f.windowSize); d%time.Millisecond != 0 {
		return op.Errorf(op.Usage, "--window-size: Kafka Streams counts in milliseconds")
	}
	return nil
}

// options are the engine's, for a STORE argument.
func (f *rowsFlags) options(store string) (inspect.RowsOptions, error) {
	o := inspect.RowsOptions{
		Path: store, Store: f.store, Tasks: f.tasks, Partitions: f.partition,
		Kind: streams.Kind(f.kind.value), WindowSize: time.Duration(f.windowSize).Milliseconds(),
		Key: f.key.Serde, ForeignKey: f.foreignKey.Serde, Value: f.value.Serde, KeepGoing: f.keepGoing,
	}
	if f.stateDir == "" || strings.ContainsRune(store, filepath.Separator) {
		if f.stateDir == "" && filepath.Base(store) == store && !files.Exists(store) {
			return o, op.Errorf(op.NotFound, "%s: no such file or directory", store).WithTry("--state-dir DIR, if %s is the name of a store", store)
		}
		return o, nil
	}
	if err := checkDir("--state-dir", f.stateDir); err != nil {
		return o, err
	}
	if f.store != "" && f.store != store {
		return o, op.Errorf(op.Usage, "%q and --store %q: with --state-dir the argument is the store's name", store, f.store)
	}
	o.Path, o.Store = f.stateDir, store
	if f.appID != "" && filepath.Base(filepath.Clean(f.stateDir)) != f.appID {
		o.Path = filepath.Join(f.stateDir, f.appID)
	}
	return o, nil
}

// times is what --time-from and --time-to say.
func (f *rowsFlags) times() inspect.TimeRange {
	return inspect.TimeRange{From: f.timeFrom.ms, To: f.timeTo.ms}
}

// compiled is the query; nil when there is none.
func (f *rowsFlags) compiled() (*serde.Query, error) {
	if f.query == "" {
		return nil, nil
	}
	q, err := serde.ParseQuery(f.query)
	if err != nil {
		return nil, op.Errorf(op.Usage, "--query: %w", err)
	}
	return q, nil
}

// serdeValue is a flag that holds a decoder's name.
type serdeValue struct{ serde.Serde }

func (v *serdeValue) String() string {
	if v.Serde == nil {
		return ""
	}
	return v.Name()
}
func (v *serdeValue) Type() string    { return "decoder" }
func (v *serdeValue) expects() string { return strings.Join(serde.Names(), "|") }
func (v *serdeValue) Set(s string) (err error) {
	v.Serde, err = serde.Parse(s)
	return err
}

// timeValue is a flag that holds a time, or nothing.
type timeValue struct{ ms *int64 }

func (v *timeValue) String() string {
	if v.ms == nil {
		return ""
	}
	return serde.Time(*v.ms).String()
}
func (v *timeValue) Type() string { return "time" }
func (v *timeValue) expects() string {
	return "a time like 2026-11-29T16:00:00Z, or milliseconds since 1970"
}
func (v *timeValue) Set(s string) error {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t, terr := time.Parse(time.RFC3339, s)
		if terr != nil {
			return fmt.Errorf("%q is neither RFC 3339 (2026-11-29T16:00:00Z) nor milliseconds since 1970", s)
		}
		ms = t.UnixMilli()
	}
	v.ms = &ms
	return nil
}
