package monitor

import (
	"time"

	"sstool/internal/op"
)

// CheckID names a check, in the thresholds' file too.
type CheckID string

// The checks.
const (
	BlockCacheHits     CheckID = "block-cache-hit-ratio"
	EstimatedKeys      CheckID = "estimated-keys"
	PendingCompaction  CheckID = "pending-compaction"
	PendingGrowth      CheckID = "pending-compaction-growth"
	RestoreLag         CheckID = "restore-lag"
	RestoreLagGrowth   CheckID = "restore-lag-growth"
	RestoreTime        CheckID = "restore-time"
	StoreGrowth        CheckID = "store-growth"
	InstanceSize       CheckID = "instance-size"
	WriteStalls        CheckID = "write-stalls"
	MemtableFlush      CheckID = "memtable-flush"
	UnflushedMemtables CheckID = "unflushed-memtables"
	Errors             CheckID = "background-errors"
)

// Unit is what a check's values are.
type Unit string

// The units.
const (
	Ratio   Unit = "ratio" // 1 is all
	Bytes   Unit = "bytes"
	Records Unit = "records"
	Keys    Unit = "keys"
	Number  Unit = "number"
	Seconds Unit = "seconds"
)

// rule is how a check judges.
type rule int

const (
	atLeast  rule = iota // the value must not be below Min
	atMost               // the value must not be above Max
	noGrowth             // the value must not have grown by Growth within the window, and still grow
	noStall              // the counter of microseconds must not grow by more than Max of the time
	inTime               // the restoration must take no longer than Max
)

// Check is something that is judged: a metric, by a rule.
type Check struct {
	ID      CheckID
	Metric  Metric
	Unit    Unit // of the values that are shown
	Default Threshold
	Title   string

	rule        rule
	level       scope
	scale       float64 // what a metric's value is multiplied with to be in Unit; 0 is 1
	consequence string
	remedy      []string
	why         string // where the threshold comes from
}

// scope says what a check has a value for.
type scope int

const (
	eachStore scope = iota
	eachTable       // stores whose rows stay: no windows, no sessions
	eachApplication
)

func value(v float64) *float64 { return &v }

// Checks is the table of all checks.
func Checks() []Check {
	return []Check{
		{
			ID: BlockCacheHits, Metric: BlockCacheDataHitRatio, Unit: Ratio, rule: atLeast,
			Default:     Threshold{Severity: op.Attention, Min: value(0.8)},
			Title:       "reads miss the block cache",
			consequence: "each miss reads and decompresses a block from disk: processing slows down as the store grows",
			remedy: []string{
				"give RocksDB a larger block cache in the RocksDBConfigSetter (Kafka Streams' own default is 50 MiB a store and task)",
				"share one cache between all stores, so that busy stores get what idle ones do not use",
			},
			why: "the monitoring checklist; KIP-471",
		},
		{
			ID: EstimatedKeys, Metric: EstimateNumKeys, Unit: Keys, rule: noGrowth, level: eachTable,
			Default:     Threshold{Severity: op.Attention, Window: 15 * time.Minute, Growth: value(0.02), Floor: value(10_000)},
			Title:       "the keys grow and do not level off",
			consequence: "without an end to the growth the disk fills up, and every restoration takes longer than the one before",
			remedy: []string{
				"let rows leave: tombstones by a punctuator, or a windowed store (sstool ttl removes old rows)",
				"a store whose application removes rows by age: say ttl: true for it in the thresholds' file",
			},
			why: "the monitoring checklist; KIP-607",
		},
		{
			ID: PendingCompaction, Metric: PendingCompactionBytes, Unit: Bytes, rule: atMost,
			Default:     Threshold{Severity: op.Wrong, Max: value(10e9)},
			Title:       "compaction is far behind",
			consequence: "reads merge more and more files, and RocksDB slows writes down at its soft limit (64 GiB unless set)",
			remedy: []string{
				"give RocksDB more background jobs (setMaxBackgroundJobs, setIncreaseParallelism) or a faster disk",
				"sstool inspect levels shows which levels wait, sstool compact works it off while the application is stopped",
			},
			why: "the monitoring checklist; KIP-607",
		},
		{
			ID: PendingGrowth, Metric: PendingCompactionBytes, Unit: Bytes, rule: noGrowth,
			Default:     Threshold{Severity: op.Attention, Window: time.Hour, Growth: value(0.1), Floor: value(1e9)},
			Title:       "pending compaction grows",
			consequence: "writes come faster than compaction works: it ends in write stalls",
			remedy:      []string{"give RocksDB more background jobs or a faster disk, or spread the store over more partitions"},
			why:         "the monitoring checklist",
		},
		{
			ID: RestoreLag, Metric: RecordsLagMax, Unit: Records, rule: atMost, level: eachApplication,
			Default:     Threshold{Severity: op.Wrong, Max: value(100_000)},
			Title:       "restoring is far behind the changelog",
			consequence: "an active task processes nothing until it is restored; a standby is no quick replacement",
			remedy: []string{
				"a restoration ends by itself: sstool restore --measure tells how long it takes and where the time goes",
				"a standby that stays behind needs a faster disk, fewer stores an instance, or larger fetches (restore.consumer.fetch.max.bytes)",
			},
			why: "the monitoring checklist",
		},
		{
			ID: RestoreLagGrowth, Metric: RecordsLagMax, Unit: Records, rule: noGrowth, level: eachApplication,
			Default:     Threshold{Severity: op.Wrong, Window: 15 * time.Minute, Growth: value(0.1), Floor: value(1000)},
			Title:       "restoring falls further behind the changelog",
			consequence: "the changelog is written faster than it is read: the restoration does not end, the standby never catches up",
			remedy:      []string{"find the bottleneck with sstool restore --measure", "lower the load, or spread the tasks over more instances"},
			why:         "the monitoring checklist",
		},
		{
			ID: RestoreTime, Metric: RestoreRemainingRecords, Unit: Seconds, rule: inTime, level: eachApplication,
			Default:     Threshold{Severity: op.Wrong},
			Title:       "a restoration takes longer than the SLA",
			consequence: "after the loss of a host or a volume the application stands still for longer than was promised",
			remedy:      []string{"num.standby.replicas=1, so that another instance has the state already", "sstool restore --measure says what would make it faster"},
			why:         "the user's SLA",
		},
		{
			ID: StoreGrowth, Metric: TotalSSTFilesSize, Unit: Bytes, rule: noGrowth,
			Default:     Threshold{Severity: op.Attention, Window: time.Hour, Growth: value(0.1), Floor: value(1e9)},
			Title:       "the store's files grow and do not level off",
			consequence: "the disk fills up; RocksDB stops at the first write that does not fit",
			remedy:      []string{"sstool inspect map shows what the files hold, sstool inspect tombstones what could go", "plan the disk for the growth, or remove rows (sstool ttl)"},
			why:         "the monitoring checklist",
		},
		{
			ID: InstanceSize, Metric: TotalSSTFilesSize, Unit: Bytes, rule: atMost, level: eachApplication,
			Default:     Threshold{Severity: op.Attention, Max: value(100e9)},
			Title:       "an instance holds more state than local stores suit",
			consequence: "restoring such an instance takes hours, and a rebalance moves it",
			remedy:      []string{"more partitions and more instances, so that each holds less", "a backend that keeps state elsewhere"},
			why:         "some 50 to 100 GB an instance is what local stores suit",
		},
		{
			ID: WriteStalls, Metric: WriteStallDuration, Unit: Ratio, rule: noStall, scale: 1e-6,
			Default:     Threshold{Severity: op.Wrong, Max: value(0.01)},
			Title:       "RocksDB holds writes back",
			consequence: "the stream thread stands still meanwhile, with all its tasks; beyond max.poll.interval.ms it leaves the group",
			remedy: []string{
				"more or larger memtables and more background jobs in the RocksDBConfigSetter",
				"a faster disk: sstool restore --measure tells write, stall and flush apart",
			},
			why: "the monitoring checklist; the counter is RocksDB's stall.micros, in microseconds whatever its description says",
		},
		{
			ID: MemtableFlush, Metric: MemtableFlushTimeAvg, Unit: Seconds, rule: atMost, scale: 1e-6,
			Default:     Threshold{Severity: op.Attention, Max: value(1)},
			Title:       "flushing memtables is slow",
			consequence: "memtables fill up faster than they are written, which ends in write stalls; commits wait for flushes",
			remedy:      []string{"a faster disk, or fewer stores on it", "smaller memtables (setWriteBufferSize): 16 MiB is Kafka Streams' own"},
			why:         "the monitoring checklist; RocksDB's flush time histogram, in microseconds whatever its description says",
		},
		{
			ID: UnflushedMemtables, Metric: NumImmutableMemTable, Unit: Number, rule: atMost, level: eachTable,
			Default:     Threshold{Severity: op.Attention, Max: value(1)},
			Title:       "full memtables wait to be flushed",
			consequence: "with the third one full (Kafka Streams sets max_write_buffer_number to 3) writes stop",
			remedy:      []string{"a faster disk, or more background flushes (setMaxBackgroundJobs)"},
			why:         "the monitoring checklist",
		},
		{
			ID: Errors, Metric: BackgroundErrors, Unit: Number, rule: atMost,
			Default:     Threshold{Severity: op.Wrong, Max: value(0)},
			Title:       "RocksDB failed in the background",
			consequence: "a flush or a compaction failed: the store takes no more writes until it is opened again",
			remedy:      []string{"look for the error in the store's LOG file, and at the disk: full, or broken", "sstool inspect sst --verify checks the files"},
			why:         "RocksDB's background-errors is 0 in a healthy store",
		},
	}
}
