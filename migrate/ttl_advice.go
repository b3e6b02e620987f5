package migrate

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"sstool/internal/spec"
	"sstool/internal/streams"
)

// advise says what matters about this store, before and after.
func (r *ttlRun) advise() {
	p, s := r.plan, r.stores[0]
	p.Advice = nil
	add := func(topic, format string, args ...any) {
		p.Advice = append(p.Advice, TTLAdvice{topic, fmt.Sprintf(format, args...)})
	}
	if p.Spread != nil && p.Spread.Useless {
		add("record age", "record age is useless here: %d %% of timestamps lie within 1 h (from %s on): the store was rebuilt then, or is rewritten all the time. "+
			"Judge by what the rows say: --timestamp-expr, --timestamps-from, or --where", int(p.Spread.Share*100), p.Spread.Hour.Format(time.RFC3339))
	}
	if n := p.Unknown.Total(); n > 0 && !p.Unknown.Deleted && r.rules.hasCutoff {
		add("unknown timestamps", "%d rows have a time that makes no sense (%d none, %d before 1970, %d in the future): they stay; --unknown-timestamps=delete takes them too",
			n, p.Unknown.Missing, p.Unknown.Negative, p.Unknown.Future)
	}
	if p.Limited > 0 {
		add("maximum", "%d more rows qualify: --max-rows takes the oldest and leaves them for the next run", p.Limited)
	}
	if p.WhereFailed.Rows > 0 {
		add("where", "--where failed on %d rows, which stay (%s)", p.WhereFailed.Rows, p.WhereFailed.First)
	}
	if p.Undecoded.Rows > 0 {
		add("decoders", "%d rows could not be decoded, or --timestamp-expr failed on them (%s)", p.Undecoded.Rows, p.Undecoded.First)
	}
	if p.Total.Selected.Rows == 0 {
		return
	}
	if ms, ok := configDuration(s.config, "delete.retention.ms"); ok {
		add("zombies", "delete.retention.ms of %s is %s: an instance that was stopped before this run and starts more than that after it may find the tombstones gone, "+
			"and what it still has on disk lives again. Start every instance before then, or delete the state directories of those that stay down. %s", s.topic, spec.FormatDuration(ms), r.stopped(ms))
	}
	add("disk", "%s", r.whenFreed(s))
	add("derived tables", "rows deleted here are not retracted from tables, aggregates and topics that were derived from them: only the store's changelog is written")
	if s.Kind == streams.KV || s.Kind == streams.TimestampedKV {
		add("from now on", "a store that need not be cleaned: a window store with retention, or a punctuator that calls store.delete(); docs/ttl.md has both, and the timestamp store for tables")
	}
}

// stopped says what is known of how long instances have been down: what the
// state directory shows.
func (r *ttlRun) stopped(retention time.Duration) string {
	var oldest time.Time
	var at TTLDatabase
	for _, s := range r.stores {
		for _, d := range s.Databases {
			if t := lastWritten(d); !t.IsZero() && (oldest.IsZero() || t.Before(oldest)) {
				oldest, at = t, d
			}
		}
	}
	if oldest.IsZero() {
		return "How long the instances have been stopped is not known: no state directory was given"
	}
	age := max(0, r.o.Now.Sub(oldest))
	text := fmt.Sprintf("Of the copies in the state directory the oldest, %s, was last written %s ago", at.TaskDir, spec.FormatDuration(roughly(age)))
	if age > retention {
		text += ", longer than that: it may lack tombstones from before this run too, so delete the directory instead of starting on it"
	}
	return text + "; how old those of other hosts are is not known here"
}

// roughly cuts an age to the unit in which people say it.
func roughly(age time.Duration) time.Duration {
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} {
		if age >= 2*unit {
			return age.Truncate(unit)
		}
	}
	return age.Truncate(time.Second)
}

// lastWritten is when an application last wrote to a copy: its newest file's
// time, or the checkpoint's.
func lastWritten(d TTLDatabase) (newest time.Time) {
	see := func(info fs.FileInfo, err error) {
		if err == nil && info.Mode().IsRegular() && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	see(os.Stat(filepath.Join(d.TaskDir, streams.CheckpointFile)))
	entries, _ := os.ReadDir(d.Dir)
	for _, e := range entries {
		see(e.Info())
	}
	return newest
}

// whenFreed says when the brokers drop the rows.
func (r *ttlRun) whenFreed(s *ttlStoreRun) string {
	text := fmt.Sprintf("compaction frees the rows of %s once they lie in closed segments", s.topic)
	if ms, ok := configDuration(s.config, "segment.ms"); ok {
		text += fmt.Sprintf(" (segment.ms=%s, segment.bytes=%s)", spec.FormatDuration(ms), s.config["segment.bytes"])
	}
	if v := s.config["min.cleanable.dirty.ratio"]; v != "" {
		text += fmt.Sprintf(" and at least %s of the log is new (min.cleanable.dirty.ratio)", v)
	}
	if v, err := strconv.ParseInt(s.config["max.compaction.lag.ms"], 10, 64); err == nil && v < int64(10*365*24*time.Hour/time.Millisecond) {
		text += fmt.Sprintf(", at the latest after max.compaction.lag.ms=%s", spec.FormatDuration(time.Duration(v)*time.Millisecond))
	} else {
		text += "; without max.compaction.lag.ms there is no latest time"
	}
	return text + ". Local files shrink when RocksDB compacts them (--compact, sstool compact)"
}

func configDuration(config map[string]string, name string) (time.Duration, bool) {
	ms, err := strconv.ParseInt(config[name], 10, 64)
	if err != nil || ms < 0 || ms > int64(1<<62/time.Millisecond) {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}
