package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sstool/internal/human"
	"sstool/internal/streams"
)

// A changelog is called not compacted from this size on, and when it is this
// many times as large as the rows of its store here. A store on disk is not
// compressed by default, and records have some 10 bytes more than rows.
const (
	bigLog     = 256 << 20
	timesStore = 8
)

// number is a setting as a number; not ok when the broker does not tell.
func number(config map[string]string, name string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(config[name]), 10, 64)
	return n, err == nil
}

// changelogCompaction compares what a changelog takes on the broker with what
// its store takes here: nothing is read. sstool inspect changelog reads it all.
func changelogCompaction(f *facts, r *report) {
	measured, small, untold := 0, 0, 0
	for t := range f.changelogs {
		if t.info == nil || !t.compacted() || t.use.Kind == streams.Versioned {
			continue
		}
		late := t.compactsLate(r)
		for _, s := range t.stores {
			id, err := streams.ParseTaskID(s.Task)
			if err != nil {
				continue
			}
			size, ok := t.sizes[int32(id.Partition)]
			switch {
			case !ok || s.DataSize == 0:
				untold++
				continue
			case size < bigLog:
				small++
				continue
			}
			measured++
			if size < timesStore*s.DataSize {
				continue
			}
			x := r.warn(t.at(int32(id.Partition)), "the changelog is %d times as large as the rows of its store: it is hardly compacted", size/s.DataSize).
				because("%s on the broker, %s of rows in task %s", human.Bytes(size), human.Bytes(s.DataSize), s.Task).
				then("every restore reads all of it, and the brokers keep it").
				do("sstool inspect changelog %s --partitions %d reads it and says why", t.name, id.Partition)
			if segment, ok := number(t.config, "segment.bytes"); ok && size <= segment {
				x.because("segment.bytes=%d is more than all of it: the active segment is never compacted, until segment.ms=%s has passed", segment, t.config["segment.ms"]).
					do("kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config segment.bytes=%d,segment.ms=%d", t.name, 64<<20, (6 * time.Hour).Milliseconds())
			} else {
				x.because("min.cleanable.dirty.ratio=%s, max.compaction.lag.ms=%s: the cleaner waits for as much that is new", t.config["min.cleanable.dirty.ratio"], t.config["max.compaction.lag.ms"]).
					do("look for a cleaner that died: the broker's log-cleaner.log, and uncleanable-partitions-count of kafka.log:type=LogCleanerManager")
			}
			if late {
				break
			}
		}
	}
	switch {
	case len(r.findings) > 0:
	case measured+small > 0:
		r.ok("", "no changelog is %d times as large as its store's rows", timesStore).because("%d partitions compared, %d smaller than %s", measured, small, human.Bytes(bigLog))
	case f.state == nil:
		r.unmeasured("", "no state directory to compare with (--state-dir); sstool inspect changelog reads a topic and tells")
	default:
		r.unmeasured("", "the brokers do not tell the sizes of %d partitions (DESCRIBE on Cluster), or there are no rows here; sstool inspect changelog reads a topic and tells", untold)
	}
}

// compactsLate finds settings that keep the cleaner away.
func (t *topicFacts) compactsLate(r *report) bool {
	ratio, err := strconv.ParseFloat(t.config["min.cleanable.dirty.ratio"], 64)
	longest, bounded := number(t.config, "max.compaction.lag.ms")
	bounded = bounded && longest <= (30*24*time.Hour).Milliseconds()
	if err != nil || ratio < 0.95 || bounded {
		return false
	}
	r.warn(t.name, "min.cleanable.dirty.ratio=%s: the cleaner begins only when nearly all of it is new", t.config["min.cleanable.dirty.ratio"]).
		then("the topic grows to many times its rows, and every restore reads that").
		do("kafka-configs.sh --alter --entity-type topics --entity-name %s --delete-config min.cleanable.dirty.ratio", t.name)
	return true
}

// How old a transaction is called hanging when its timeout is not known: the
// longest that brokers allow by default (transaction.max.timeout.ms).
const longestTransaction = 15 * time.Minute

// openTransactions looks at partitions whose last stable offset stays behind.
// An application that runs under exactly-once has transactions open at any
// moment.
func openTransactions(f *facts, r *report) {
	open, hidden := 0, ""
	for _, t := range f.topics {
		if t.openErr != nil {
			hidden = fmt.Sprintf("%s: %v", t.name, t.openErr)
		}
		if t.endsErr != nil {
			r.unmeasured(t.name, "%v", t.endsErr)
		}
		for _, x := range t.open {
			open++
			limit := x.Timeout
			if limit == 0 {
				limit = longestTransaction
			}
			age := x.Age(f.o.Now)
			late := age > limit+time.Minute
			if !late && f.cluster.members > 0 || !late && age < time.Minute {
				continue
			}
			say, title := r.warn, "a transaction has been open for %s"
			if late {
				say, title = r.problem, "a transaction hangs: it has been open for %s, longer than its timeout"
			}
			y := say(t.at(x.partition), title, human.Duration(age.Round(time.Second)))
			y.because("producer %d, epoch %d, from offset %d on; %d offsets lie beyond the last stable one", x.ProducerID, x.Epoch, x.StartOffset, x.gap)
			switch {
			case x.TransactionalID != "":
				y.because("transactional.id %s, timeout %s", x.TransactionalID, x.Timeout)
			default:
				y.because("its coordinator does not name it: it has forgotten it, or the user may not DESCRIBE the transactional id")
			}
			y.then("readers with read_committed stop before it, compaction and retention too; a restore under exactly-once waits for it")
			if !late {
				y.do("wait until its timeout has passed (%s from its start): the coordinator then aborts it", limit)
			}
			y.do("%s", f.o.Client.AbortCommand(t.name, x.partition, x.OpenTxn))
		}
	}
	switch {
	case len(r.findings) > 0:
	case hidden != "":
		r.unmeasured("", "%s", hidden)
	case open > 0:
		r.ok("", "%d transactions are open, none longer than its timeout: the application is running", open)
	default:
		r.ok("", "every partition is stable to its end")
	}
}
