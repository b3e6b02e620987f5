package doctor

import (
	"fmt"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/lsm"
	"sstool/internal/streams"
)

// capacityChecks compare what is here with what this model of state suits.
func capacityChecks() []Check {
	return []Check{
		{ID: "capacity.size", Area: AreaCapacity, Title: "the state of an instance is of a size that local stores suit", needs: []need{needsState}, run: stateSize},
		{ID: "capacity.memory", Area: AreaCapacity, Title: "memory is enough for RocksDB", needs: []need{needsState}, run: memoryBudget},
		{ID: "capacity.advisories", Area: AreaCapacity, Title: "the version has no known fault that a patch release mends", run: advisories},
	}
}

// What an instance's local stores suit, by experience: where the sources of
// docs/doctor.md draw the line. A restore of 100 GiB at 50 MiB a second takes
// 35 minutes.
const (
	comfortable = 50 << 30
	most        = 100 << 30
	restoreRate = 50 << 20
)

func stateSize(f *facts, r *report) {
	size, tasks := int64(0), map[string]bool{}
	var largest *inspect.MapStore
	for _, s := range f.stores() {
		size += s.Size
		tasks[s.Task] = true
		if largest == nil || s.Size > largest.Size {
			largest = s
		}
	}
	day := writtenSince(f.stores(), f.o.Now.Add(-24*time.Hour))
	facts := func(x *finding) *finding {
		x.because("%s in %d tasks of this instance", human.Bytes(size), len(tasks))
		if largest != nil {
			x.because("the largest store is %s of task %s, %s", largest.Name, largest.Task, human.Bytes(largest.Size))
		}
		if day > 0 {
			x.because("at most %s of it were written within the last 24 hours", human.Bytes(day))
		}
		return x
	}
	then := "a lost disk or a task that moves means a restore of that size: about %s at %s a second"
	took := human.Duration(secondsOf(size))
	switch {
	case size > most:
		facts(r.problem("", "%s of local state on one instance, more than some %s", human.Bytes(size), human.Bytes(most))).
			then(then, took, human.Bytes(restoreRate)).
			do("more partitions and instances: a new input topic with more partitions, and the state built anew from it").
			do("less state: sstool ttl, shorter retention of windows, smaller values").
			do("beyond that, a backend that keeps state apart from the machines, such as Flink 2's ForSt (FLIP-423)")
	case size > comfortable:
		facts(r.warn("", "%s of local state on one instance", human.Bytes(size))).
			then(then, took, human.Bytes(restoreRate)).
			do("plan: standby replicas, more instances while there are tasks to move, sstool ttl; measure with sstool restore --measure")
	default:
		facts(r.ok("", "%s of local state, local stores suit some %s to %s an instance", human.Bytes(size), human.Bytes(comfortable), human.Bytes(most)))
	}
}

// blockCache is what each store gets that no RocksDBConfigSetter changes
// (SI/RocksDBStore.BLOCK_CACHE_SIZE).
const blockCache = 50 << 20

// memoryBudget adds up what RocksDB may take outside of the heap: each segment
// is a database of its own, with its own cache.
func memoryBudget(f *facts, r *report) {
	if len(f.options) == 0 {
		r.unmeasured("", "no OPTIONS file could be read")
		return
	}
	tables := int64(0)
	for i := range f.options {
		one := int64(0)
		for j := range f.options[i].Families {
			c := &f.options[i].Families[j]
			if c.Name != streams.OffsetsFamily {
				one = max(one, memtables(c)) // an upgraded store writes one family only
			}
		}
		tables += one
	}
	caches := int64(len(f.options)) * blockCache
	memory, whose, err := memoryOf(f.holder())
	if err != nil {
		r.unmeasured("", "%v", err)
		return
	}
	facts := func(x *finding) {
		x.because("%d databases (each segment of a window is one): %s of memtables by their OPTIONS, %s of block cache at Kafka Streams' 50 MiB each", len(f.options), human.Bytes(tables), human.Bytes(caches))
		x.because("%s: %s", whose, human.Bytes(memory))
		x.because("a cache and a write buffer manager that a rocksdb.config.setter shares are not seen in OPTIONS; the JVM's heap comes on top")
	}
	need := tables + caches
	if need > memory*8/10 {
		x := r.warn("", "RocksDB may take %s, of %s of memory", human.Bytes(need), human.Bytes(memory))
		facts(x)
		x.then("the process is killed when caches and memtables fill up (OOMKilled), or the page cache has no room and reads are slow").
			do("a rocksdb.config.setter with one LRUCache and one WriteBufferManager for all stores, as the documentation on memory management has it").
			do("fewer stores and segments an instance; sstool monitor watches the block cache")
		return
	}
	facts(r.ok("", "RocksDB may take %s, of %s of memory", human.Bytes(need), human.Bytes(memory)))
}

// memtables is what the memtables of a family may take.
func memtables(c *lsm.FamilyOptions) int64 {
	size, ok := number(c.CF, "write_buffer_size")
	n, has := number(c.CF, "max_write_buffer_number")
	if !ok || !has {
		return 0
	}
	return size * n
}

// advisory is a fault of a release of Kafka Streams that is mended in a later
// one.
type advisory struct {
	from, below streams.Version
	what, issue string
	fix         string
}

// advisoryTable is of faults that concern state, from Kafka's upgrade guides.
func advisoryTable() []advisory {
	v := func(a, b, c int) streams.Version { return streams.Version{Major: a, Minor: b, Patch: c} }
	return []advisory{
		{v(4, 1, 0), v(4, 1, 1), "native memory leaks with range scans, session and sliding windows, stream-stream and foreign-key joins", "KAFKA-19748", "4.1.1"},
		{v(4, 3, 0), v(4, 3, 1), "native memory leaks whenever a store is closed: rebalances, recoveries", "KAFKA-20616, KAFKA-20688", "4.3.1"},
	}
}

// advisories looks the version up that the log or the options state.
func advisories(f *facts, r *report) {
	v, from := f.o.Kafka, "as stated"
	if f.log != nil && f.log.Kafka != "" {
		if x, err := streams.ParseVersion(f.log.Kafka); err == nil {
			v, from = x, "as the log says"
		}
	}
	if v.IsZero() {
		x := r.unmeasured("", "the exact version is not known (--log FILE, or --kafka-version X.Y.Z)")
		for _, a := range advisoryTable() {
			x.because("%s: %s (%s), mended in %s", a.from, a.what, a.issue, a.fix)
		}
		return
	}
	for _, a := range advisoryTable() {
		if v.AtLeast(a.from) && !v.AtLeast(a.below) {
			r.problem(fmt.Sprintf("Kafka Streams %s", v), "%s", a.what).because("%s (%s)", a.issue, from).
				then("the process grows until it is killed").do("upgrade the client to %s", a.fix)
		}
	}
	if len(r.findings) == 0 {
		r.ok("", "Kafka Streams %s (%s): none known of %d", v, from, len(advisoryTable()))
	}
}

// secondsOf is how long a size takes at restoreRate.
func secondsOf(size int64) time.Duration {
	return time.Duration(float64(size) / restoreRate * float64(time.Second)).Round(time.Second)
}
