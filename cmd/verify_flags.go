package cmd

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/inspect"
	"sstool/inspect/verify"
	"sstool/internal/files"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/spec"
)

func (f *verifyFlags) registerVerify(cmd *cobra.Command) {
	section(cmd, "Which store", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.stateDir, "state-dir", "", "state.dir `DIR` of the application; STORE is a name then")
		fs.StringVar(&f.appID, "application-id", "", "application.id of the Kafka Streams application, `ID`")
		fs.StringVar(&f.store, "store", "", "the store's `NAME`, when STORE is a directory with several")
		fs.Var(&f.tasks, "task", "only this `TASK`: 1_3, or global")
		fs.Var(&f.partition, "partition", "only the tasks of these partitions: 0,2-5")
	})
	section(cmd, "What it is compared with", func(fs *pflag.FlagSet) {
		f.kafka.registerOptional(cmd)
		fs.StringVar(&f.topic, "topic", "", "the changelog `TOPIC` (default as the directory tells)")
		fs.StringVar(&f.against, "against", "", "another copy of the store instead: that in state.dir `DIR`, in an application's directory, or in a store's; of a standby on another host")
		fs.BoolVar(&f.digest, "digest", false, "only tell the digest of each task's rows, which does not depend on their order: the same on two hosts when the rows are; no cluster is needed")
		fs.Var(&f.at, "at", "compare at this `OFFSET`, that of the last record applied, or at end (default the offset that the store has stored)")
		f.guarantee.choices = []string{spec.AtLeastOnce, spec.ExactlyOnce}
		fs.Var(&f.guarantee, "processing-guarantee", "the application's `GUARANTEE`: at_least_once, which applies records of aborted transactions, or exactly_once_v2 (default as if exactly once)")
	})
	section(cmd, "What is known of it", func(fs *pflag.FlagSet) {
		f.kind.choices = strings.Split(diskKinds(), ", ")
		fs.Var(&f.key, "key", "how keys are decoded: `DECODER` "+strings.Join(serde.Names(), ", ")+" (default as they look)")
		fs.Var(&f.value, "value", "how values are decoded: `DECODER`, as for --key")
		fs.Var(&f.foreignKey, "foreign-key", "how foreign keys of an fk-subscription store are decoded: `DECODER`")
		fs.Var(&f.kind, "kind", "`KIND` of the store (default as its files tell): "+diskKinds())
		fs.Var(&f.retention, "retention", "retention of a window or session store, history retention of a versioned one (default as the changelog's configuration tells)")
		fs.Var(&f.windowSize, "window-size", "size of the windows, which no store keeps: tells where they end")
	})
	section(cmd, "How", func(fs *pflag.FlagSet) {
		f.sample.min, f.sample.max = 1, 1_000_000
		fs.Var(&f.sample, "sample", "compare `N` keys that lie on disk and N of the changelog, of each task, instead of all rows")
		fs.BoolVar(&f.repair, "repair", false, "print the commands that would repair what differs; nothing is run")
		f.limit.min = 1
		fs.Var(&f.limit, "limit", "show the first `N` differences of each task (default 10)")
		fs.Var(&f.memory, "memory", "memory budget (default 192MiB)")
		fs.StringVar(&f.scratch, "scratch", "", "`DIR` for temporary files (default the system's temporary directory)")
		fs.Var(&f.stall, "stall-timeout", "give up after this long without progress (default 1m)")
		f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
		f.progress.register(cmd)
	})
	complete(cmd, "kind", f.kind.choices)
	complete(cmd, "processing-guarantee", f.guarantee.choices)
}

// verifyOptions are the engine's.
func (f *verifyFlags) verifyOptions(store string) (verify.Options, error) {
	rows, err := f.rowsFlags.options(store)
	o := verify.Options{Rows: rows, Topic: f.topic, Retention: time.Duration(f.retention), At: f.at.At,
		Limit: int(f.limit.or(0)), Memory: int64(f.memory), TempDir: f.scratch, Stall: time.Duration(f.stall)}
	if f.guarantee.value != "" {
		eos := f.guarantee.value == spec.ExactlyOnce
		o.ExactlyOnce = &eos
	}
	o.Sample = int(f.sample.or(0))
	if f.repair {
		o.Repair = &verify.Place{Server: f.kafka.bootstrap, Config: f.kafka.commandConfig, Guarantee: f.guarantee.value}
	}
	switch {
	case err != nil:
	case f.digest && (f.against != "" || f.at.String() != "" || o.Sample > 0 || f.repair):
		err = op.Errorf(op.Usage, "--digest compares nothing: --against, --at, --sample and --repair do not go with it")
	case f.against != "" && (f.at.String() != "" || o.Sample > 0 || f.repair):
		err = op.Errorf(op.Usage, "--against compares two copies: --at, --sample and --repair are for a changelog")
	case f.against != "":
		err = checkDir("--against", f.against)
	}
	if err == nil {
		err = checkScratch(f.scratch)
	}
	return o, err
}

// other is where the other copy of the store lies: under --against, in the
// directory of the same application where there is one.
func (f *verifyFlags) other(o verify.Options) inspect.RowsOptions {
	r := inspect.RowsOptions{Path: f.against, Tasks: o.Rows.Tasks, Partitions: o.Rows.Partitions, WindowSize: o.Rows.WindowSize}
	if f.appID != "" {
		if dir := filepath.Join(f.against, f.appID); files.Exists(dir) {
			r.Path = dir
		}
	}
	return r
}
