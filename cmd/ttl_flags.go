package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/spec"
	"sstool/internal/streams"
	"sstool/migrate"
)

// ttlFlags are the flags of sstool ttl.
type ttlFlags struct {
	kafka    kafkaFlags
	out      outputFlag
	progress progressFlag

	appID, store, spec, topology, stateDir string
	also                                   namesValue
	kind, guarantee                        choiceValue

	olderThan                     durationValue
	before                        timeValue
	streamTime                    bool
	timestampExpr, timestampsFrom string
	unknown                       choiceValue
	where, prefix, keysFrom       string
	keys                          []string // tombstone's
	maxRows                       numberValue
	key, value, timestampsValue   serdeValue
	memory                        memoryValue
	dryRun, yes                   bool

	ledger, target string
	rate           numberValue
	timestamp      timeValue
	wait           durationValue
	compact        bool
}

func (f *ttlFlags) register(cmd *cobra.Command) {
	section(cmd, "Which store", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.store, "store", "", "the store's `NAME`")
		f.registerStore(cmd, fs)
		fs.Var(&f.also, "also", "related stores, `NAME,NAME`: a key that is deleted is deleted from them too")
	})
	section(cmd, "Which rows", func(fs *pflag.FlagSet) {
		fs.Var(&f.olderThan, "older-than", "rows older than this: 24h, 30d")
		fs.BoolVar(&f.streamTime, "stream-time", false, "count --older-than back from the newest timestamp of each partition instead of now")
		fs.Var(&f.before, "before", "rows from before this `TIME` (RFC 3339 or epoch ms)")
		fs.StringVar(&f.timestampExpr, "timestamp-expr", "", "jq `EXPRESSION` over the decoded value that gives the row's time: epoch ms or s, RFC 3339, a date; $key is the key")
		fs.StringVar(&f.timestampsFrom, "timestamps-from", "", "take the times from the values of the store `NAME`, which has the same keys")
		f.unknown.choices = []string{"keep", "delete"}
		fs.Var(&f.unknown, "unknown-timestamps", "what becomes of rows whose time is none, negative or in the future: keep or delete (default keep)")
		fs.StringVar(&f.where, "where", "", "jq `EXPRESSION` over {partition, key, timestamp, timestamp_ms, value}: only rows for which it is true")
		fs.StringVar(&f.prefix, "prefix", "", "only keys that begin with `TEXT`")
		fs.StringVar(&f.keysFrom, "keys-from", "", "only the keys in `FILE`, one a line as --key reads them; - is stdin")
		f.maxRows.min = 1
		fs.Var(&f.maxRows, "max-rows", "delete at most `N` rows, the oldest")
	})
	section(cmd, "How they are read", func(fs *pflag.FlagSet) {
		fs.Var(&f.key, "key", "how keys are decoded: `DECODER` "+strings.Join(serde.Names(), ", ")+" (default as they look)")
		fs.Var(&f.value, "value", "how values are decoded: `DECODER`, as for --key")
		fs.Var(&f.timestampsValue, "timestamps-value", "how values of --timestamps-from are decoded: `DECODER` (default as they look, or long)")
		fs.Var(&f.memory, "memory", "memory budget (default 256MiB)")
	})
	section(cmd, "How", func(fs *pflag.FlagSet) { f.registerDeletion(cmd, fs) })
	complete(cmd, "unknown-timestamps", f.unknown.choices)
}

// registerStore is which store, for tombstone too.
func (f *ttlFlags) registerStore(cmd *cobra.Command, fs *pflag.FlagSet) {
	f.kafka.register(cmd)
	fs.StringVar(&f.appID, "application-id", "", "application.id of the Kafka Streams application, `ID`")
	fs.StringVar(&f.stateDir, "state-dir", "", "state.dir `DIR` of the application: tells the kind, is read where it is current, and its rows are deleted too")
	fs.StringVar(&f.spec, "spec", "", "store specification `FILE`, which tells the kind; sstool spec writes it")
	fs.StringVar(&f.topology, "topology", "", "`FILE` with the text of Topology#describe(); - is stdin")
	f.kind.choices = []string{string(streams.KV), string(streams.TimestampedKV)}
	fs.Var(&f.kind, "kind", "`KIND` of the stores whose kind nothing else tells: kv or timestamped-kv")
	f.guarantee.choices = []string{spec.AtLeastOnce, spec.ExactlyOnce}
	fs.Var(&f.guarantee, "processing-guarantee", "processing `GUARANTEE` of the application: at_least_once or exactly_once_v2")
	complete(cmd, "kind", f.kind.choices)
	complete(cmd, "processing-guarantee", f.guarantee.choices)
}

// registerDeletion is how rows are deleted, for tombstone too.
func (f *ttlFlags) registerDeletion(cmd *cobra.Command, fs *pflag.FlagSet) {
	fs.BoolVar(&f.dryRun, "dry-run", false, "show what would go and change nothing")
	fs.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fs.Var(&f.wait, "wait", "wait so long for the members of the application's group to leave")
	f.rate.min = 1
	fs.Var(&f.rate, "rate", "write at most `N` tombstones a second")
	fs.Var(&f.timestamp, "tombstone-timestamp", "timestamp of the tombstones, a `TIME` (default now)")
	fs.BoolVar(&f.compact, "compact", false, "compact the local stores afterwards")
	fs.StringVar(&f.target, "target-kafka", "", "for --compact: Kafka `VERSION` of the application, 3.0 to 4.4 (default any of them)")
	fs.StringVar(&f.ledger, "ledger", "", "`FILE` that notes how far the run is, for the next one (default beside the state directory, or in $XDG_STATE_HOME/sstool)")
	f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
	f.progress.register(cmd)
}

// check refuses flags that contradict each other.
func (f *ttlFlags) check() error {
	stdin := 0
	for _, name := range []string{f.topology, f.keysFrom, f.spec} {
		if name == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return op.Errorf(op.Usage, "only one flag can read stdin")
	}
	if f.timestampsValue.Serde != nil && f.timestampsFrom == "" {
		return op.Errorf(op.Usage, "--timestamps-value without --timestamps-from")
	}
	if f.compact && f.stateDir == "" {
		return op.Errorf(op.Usage, "--compact compacts local stores").WithTry("--state-dir DIR")
	}
	return checkDir("--state-dir", f.stateDir)
}

// deletion is how the rows are deleted.
func (f *ttlFlags) deletion(command string) (migrate.DeletionOptions, error) {
	o := migrate.DeletionOptions{Ledger: f.ledger, Rate: float64(f.rate.or(0)), Wait: time.Duration(f.wait), Compact: f.compact, StateDir: f.stateRoot()}
	if f.timestamp.ms != nil {
		o.Timestamp = *f.timestamp.ms
	}
	if f.target != "" {
		v, err := streams.ParseVersion(f.target)
		if err == nil {
			err = v.CheckTarget()
		}
		if err != nil {
			return o, fmt.Errorf("--target-kafka: %w", err)
		}
		o.Target = v
	}
	if o.Ledger == "" {
		o.Ledger = migrate.DefaultLedger(o.StateDir, command, f.appID, append([]string{f.store}, f.also...)...)
	}
	return o, nil
}

// stateRoot is state.dir, when the application's directory in it was given.
func (f *ttlFlags) stateRoot() string {
	if f.stateDir != "" && filepath.Base(filepath.Clean(f.stateDir)) == f.appID {
		return filepath.Dir(filepath.Clean(f.stateDir))
	}
	return f.stateDir
}

// options are the engine's.
func (f *ttlFlags) options(ctx context.Context, a *app) (migrate.TTLOptions, error) {
	o := migrate.TTLOptions{
		Command: migrate.CommandTTL, ApplicationID: f.appID, Guarantee: f.guarantee.value, OlderThan: time.Duration(f.olderThan), StreamTime: f.streamTime, Before: f.before.ms,
		Prefix: f.prefix, DeleteUnknown: f.unknown.value == "delete", MaxRows: f.maxRows.or(0), Key: f.key.Serde, Value: f.value.Serde, CompanionValue: f.timestampsValue.Serde,
		Memory: int64(f.memory), StallTimeout: time.Minute, DryRun: f.dryRun, Wait: time.Duration(f.wait),
	}
	o.Store.Name = f.store
	var err error
	if o.Where, err = ttlQuery("where", f.where); err != nil {
		return o, err
	}
	if o.Timestamp, err = ttlQuery("timestamp-expr", f.timestampExpr, "$key"); err != nil {
		return o, err
	}
	if f.keysFrom != "" {
		o.KeysWhy = f.keysFrom
		if o.Keys, err = a.opener("--keys-from", f.keysFrom); err != nil {
			return o, err
		}
	}
	if len(f.keys) > 0 {
		o.Keys, o.KeysWhy = f.keyLines(), "--key"
		o.KeysGiven = f.keys
	}
	for _, name := range f.also {
		o.Also = append(o.Also, migrate.TTLStore{Name: name})
	}
	if f.timestampsFrom != "" {
		o.Companion = &migrate.TTLStore{Name: f.timestampsFrom}
	}
	if err := o.Validate(); err != nil { // before anything is read
		return o, err
	}
	known, err := f.known(ctx, a)
	if err != nil {
		return o, err
	}
	if o.Guarantee == "" {
		o.Guarantee = known.guarantee()
	}
	for _, s := range o.Stores() {
		if err := known.fill(s); err != nil {
			return o, err
		}
	}
	return o, nil
}

func ttlQuery(flag, expr string, vars ...string) (*migrate.TTLQuery, error) {
	if expr == "" {
		return nil, nil
	}
	q, err := serde.ParseQuery(expr, vars...)
	if err != nil {
		return nil, op.Errorf(op.Usage, "--%s: %w", flag, err)
	}
	return &migrate.TTLQuery{Query: q, Text: expr}, nil
}

// opener opens a file as often as it is read; stdin is kept.
func (a *app) opener(flag, name string) (func() (io.ReadCloser, error), error) {
	if name == "-" {
		b, err := io.ReadAll(a.io.In)
		if err != nil {
			return nil, op.Errorf(op.Failed, "%s: read stdin: %w", flag, err)
		}
		return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }, nil
	}
	open := func() (io.ReadCloser, error) {
		file, err := os.Open(name)
		if os.IsNotExist(err) {
			return nil, op.Errorf(op.NotFound, "%s: %w", flag, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		return file, nil
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	return open, file.Close()
}
