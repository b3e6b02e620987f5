// Package restore replays changelog topics into fresh stores and says how long
// it took and where the time went. It owns the plan (which partitions, which
// offsets, which directories), the two replay profiles (streams, bulk), the
// hand-over into a state directory and the report. It does not parse flags,
// print, or know Kafka's wire format, RocksDB's or Kafka Streams' byte layouts:
// those are internal/kafka, internal/rocks and internal/streams.
package restore

import (
	"time"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// Profile is the way records get into RocksDB.
type Profile string

// The profiles: Streams replays as Kafka Streams does and so predicts its
// time; Bulk is the fastest way to the same rows.
const (
	Streams Profile = "streams"
	Bulk    Profile = "bulk"
)

// Guarantee is the application's processing.guarantee; empty when not stated.
type Guarantee string

// The guarantees Kafka Streams knows.
const (
	AtLeastOnce Guarantee = "at_least_once"
	ExactlyOnce Guarantee = "exactly_once_v2"
)

// StoreRequest is one store to restore, with what the caller knows about it.
// Zero values are unknown: the plan derives them or asks for them.
type StoreRequest struct {
	streams.Store
	Topic       string // exact topic; empty: the application's changelog of Name
	Subtopology *int   // nil when unknown; unused for global stores
	SourceTopic bool   // Topic is the application's input, not an internal changelog (optimised KTable)
	GlobalCopy  bool   // the rows of this global store are the topic's (no processor of its own)
}

// Options say what to restore, from where to where, and how.
type Options struct {
	ApplicationID string
	Guarantee     Guarantee
	Target        streams.Version // of the application that will open the result; zero when not stated
	Stores        []StoreRequest
	// Siblings are all stores the caller knows of the application (a spec's),
	// Stores included; nil when only Stores are known.
	Siblings []StoreRequest

	Partitions []int32          // only these; nil for all
	Tasks      []streams.TaskID // only these; nil for all

	Into    string // state.dir to build in; empty: a scratch directory, removed afterwards
	Scratch string // where scratch directories go; empty: the system's temporary directory
	Force   bool   // a non-empty store is moved aside instead of refused
	// SkipExisting leaves stores that are there as they are and restores the
	// rest; under exactly-once it leaves the whole task.
	SkipExisting bool

	Profile      Profile
	Threads      int   // partitions in parallel; 0: as many as cores
	Memory       int64 // budget in bytes for the bulk profile; 0: DefaultMemory
	AsTarget     bool  // start windowed replays where the target version would
	StallTimeout time.Duration
	// Consumer holds the restore consumer's settings under their Java names
	// (max.poll.records, fetch.max.bytes, max.partition.fetch.bytes, …).
	Consumer map[string]string

	Snapshot       *SnapshotOptions // stores come from snapshots, and only what came later is replayed; nil: from the log start
	FromCheckpoint bool
	StateDir       string    // with FromCheckpoint and no Into: the state.dir whose stores are copied and resumed
	ToOffset       int64     // stop before this offset; negative: at the end
	ToTime         time.Time // stop at the first record this new; zero: at the end
	Isolation      string    // read_committed, read_uncommitted; empty: follows Guarantee
	AcceptDerived  bool      // values derived from topic configuration may be written
	Measure        bool      // the caller wants the measurement: assumptions are allowed when nothing is written

	follow  bool // for a follower: what is there is left as it is, and nothing waits for a transaction
	rebuild bool // one store of a task whose others are followed

	SLA        time.Duration // 0: none
	Repeat     int           // measured runs; 0 and 1 are one
	Project    []int         // thread counts to project for; nil: 1, 2, 4, 8
	ProjectFor []int64       // sizes in bytes to project for
}

// Defaults of Options.
const (
	DefaultMemory       = 256 << 20
	DefaultStallTimeout = 60 * time.Second
	DefaultMaxPoll      = 1000     // StreamsConfig: restore consumer max.poll.records
	DefaultFetchMax     = 50 << 20 // ConsumerConfig fetch.max.bytes
	DefaultPartitionMax = 1 << 20  // ConsumerConfig max.partition.fetch.bytes
)

func (o *Options) setDefaults(cores int) {
	if o.Profile == "" {
		o.Profile = Bulk
		if o.Into == "" {
			o.Profile = Streams
		}
	}
	if o.Threads <= 0 {
		o.Threads = cores
	}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = DefaultStallTimeout
	}
	if o.Repeat < 1 {
		o.Repeat = 1
	}
	if len(o.Project) == 0 {
		o.Project = []int{1, 2, 4, 8}
	}
}

// Validate checks what can be checked without a cluster.
func (o *Options) Validate() error {
	switch {
	case o.ApplicationID == "":
		return op.Errorf(op.Usage, "no application id").WithTry("--application-id ID, or --spec FILE")
	case len(o.Stores) == 0:
		return op.Errorf(op.Usage, "no store to restore").WithTry("--store NAME, or --spec FILE")
	case o.Into == "" && !o.Measure:
		return op.Errorf(op.Usage, "nothing to do: neither --measure nor --into").WithTry("--measure times a replay in a scratch directory; --into DIR builds the state directory")
	case o.Profile != "" && o.Profile != Streams && o.Profile != Bulk:
		return op.Errorf(op.Usage, "unknown profile %q", o.Profile).WithTry("--profile streams or --profile bulk")
	case o.Guarantee != "" && o.Guarantee != AtLeastOnce && o.Guarantee != ExactlyOnce:
		return op.Errorf(op.Usage, "unknown processing guarantee %q", o.Guarantee).WithTry("at_least_once or exactly_once_v2")
	case o.Isolation != "" && o.Isolation != "read_committed" && o.Isolation != "read_uncommitted":
		return op.Errorf(op.Usage, "unknown isolation level %q", o.Isolation).WithTry("read_committed or read_uncommitted")
	case o.Into != "" && o.Repeat > 1:
		return op.Errorf(op.Usage, "--repeat is for --measure in a scratch directory, not for --into")
	case o.SkipExisting && (o.Force || o.FromCheckpoint):
		return op.Errorf(op.Usage, "--skip-existing leaves existing stores alone: --force and --from-checkpoint do not fit")
	case o.FromCheckpoint && o.resumeDir() == "":
		return op.Errorf(op.Usage, "--from-checkpoint needs the state directory to resume").
			WithTry("--into DIR resumes it in place; --measure --state-dir DIR times the tail on a copy")
	case o.FromCheckpoint && o.partial():
		return op.Errorf(op.Usage, "--from-checkpoint goes to the changelog's end: --to-offset and --to-time do not fit")
	}
	if err := o.Snapshot.validate(o); err != nil {
		return err
	}
	// Names become paths.
	if err := streams.ValidateApplicationID(o.ApplicationID); err != nil {
		return err
	}
	if o.ApplicationID == ownName {
		return op.Errorf(op.Usage, "application id %q is the name of this program's own directory", ownName)
	}
	seen := map[string]bool{}
	for _, s := range o.Stores {
		if s.Name == "" {
			return op.Errorf(op.Usage, "a store without a name")
		}
		if err := streams.ValidateStoreName("", s.Name); err != nil {
			return err
		}
		if seen[s.Name] {
			return op.Errorf(op.Usage, "store %q is given twice", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}

// readCommitted is the isolation level in force and why.
func (o *Options) readCommitted() (bool, string) {
	switch {
	case o.Isolation != "":
		return o.Isolation == "read_committed", "as given"
	case o.Guarantee == ExactlyOnce:
		return true, "processing.guarantee=exactly_once_v2"
	case o.Guarantee == AtLeastOnce:
		return false, "processing.guarantee=at_least_once"
	}
	return false, "processing.guarantee not stated: Kafka Streams' default at_least_once is assumed"
}

// partial says that the replay stops before the changelog's end, so that its
// result is a scratch copy and gets no checkpoint.
func (o *Options) partial() bool { return o.ToOffset >= 0 || !o.ToTime.IsZero() }

// resumeDir is the state.dir that FromCheckpoint resumes.
func (o *Options) resumeDir() string {
	if o.Into != "" {
		return o.Into
	}
	return o.StateDir
}
