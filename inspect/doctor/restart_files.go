package doctor

import (
	"fmt"
	"strings"

	"sstool/inspect"
	"sstool/internal/human"
	"sstool/internal/streams"
)

// segmentStrays tells what lies among segments.
func segmentStrays(f *facts, r *report) {
	v, _ := f.kafka()
	for _, t := range f.lyingTasks() {
		for _, s := range t.stores {
			if !s.Segmented || len(s.Strays()) == 0 {
				continue
			}
			p := r.problem(f.name(t)+", store "+s.Name, "%d entries among its segments are none", len(s.Strays()))
			for i, o := range s.Strays() {
				if i < 5 {
					p.because("%s", o.Where)
				}
			}
			if streams.OffsetsInStore(v) {
				p.then("the application does not start (StringIndexOutOfBoundsException)")
			} else {
				p.then("Kafka Streams up to 4.2 opens no segment of the store, and says nothing: its rows are gone from queries and joins; 4.4 does not start")
			}
			p.do("stop the application and move them out of the state directory")
		}
	}
}

// filesWhole tells damaged databases, and what can still be done with each.
func filesWhole(f *facts, r *report) {
	databases := 0
	for _, t := range f.lyingTasks() {
		for _, s := range t.stores {
			databases += max(1, len(s.Segments))
			f.brokenStore(r, t, s)
			for _, d := range s.Doubts() {
				p := r.warn(f.name(t)+", store "+s.Name, "%s", d.What).because("%s", d.Where).
					then("RocksDB opens the store without them; rows in them come back only if the stored offset is older")
				if d.Cure != "" {
					p.do("%s", d.Cure)
				}
			}
		}
	}
	for _, u := range f.state.Unreadable {
		r.unmeasured(u.Where, "%s", u.What)
	}
	if len(r.findings) == 0 {
		r.ok("", "%d databases: every MANIFEST reads, and the files it names are there", databases)
	}
}

// brokenStore tells what is wrong with a store's files, and what can still be
// done: nothing here edits a file.
func (f *facts) brokenStore(r *report, t *lyingTask, s *inspect.MapStore) {
	broken := s.Broken()
	if len(broken) == 0 {
		return
	}
	p := r.problem(f.name(t)+", store "+s.Name, "%s", broken[0].What).because("%s", broken[0].Where)
	current, files := strings.HasPrefix(broken[0].What, "CURRENT"), len(broken)-1
	for _, b := range broken[1:] {
		p.because("%s", b.What)
		if strings.Contains(b.What, "is taken instead") {
			files--
		}
	}
	p.then("RocksDB does not open the store: the application does not start. Nothing is wiped, but under exactly-once: up to Kafka Streams 4.2 the task's directory, from 4.3 on global/ is deleted as it fails, and the start after that replays it")
	if current && files == 0 && len(broken) > 1 {
		p.because("%d SST files that it names are here", s.Files)
		p.do("recoverable by hand: copy the directory, and write the name of that MANIFEST and a newline into CURRENT")
	}
	if cure := broken[0].Cure; cure != "" {
		p.do("%s", cure)
	}
	p.do("or remove the task's directory and let it be restored%s: sstool restore --into DIR, or the application itself", f.replayOf(t, s))
}

// replayOf is how much a restore of the store reads, in brackets.
func (f *facts) replayOf(t *lyingTask, s *inspect.MapStore) string {
	eos, _ := f.exactlyOnce()
	n := f.next(eos).full(t, s)
	if n == nil {
		return ""
	}
	return fmt.Sprintf(" (up to %s records)", human.Count(*n))
}

// rocksLog tells what RocksDB wrote down itself.
func rocksLog(f *facts, r *report) {
	read := 0
	for _, t := range f.lyingTasks() {
		for _, s := range t.stores {
			l := s.Log
			if l == nil {
				continue
			}
			read += l.Files - l.Unread
			if n := len(l.LastErrors); n > 0 {
				last := l.LastErrors[n-1]
				p := r.problem(f.name(t)+", store "+s.Name, "RocksDB's LOG has %d errors, the last: %s", l.Errors, last.Text)
				for _, e := range l.LastErrors {
					p.because("%s %s: %s", e.Time, e.Level, e.Text)
				}
				for _, v := range l.Versions {
					p.because("RocksDB %s", v)
				}
				p.because("%s/LOG", last.Database)
				p.then("what failed for it then (a flush, an open) fails again when its cause is still there").do("mend what the message names: space, rights, the disk")
			}
			if n := len(l.LastStalls); n > 0 {
				last := l.LastStalls[n-1]
				r.warn(f.name(t)+", store "+s.Name, "RocksDB slowed writers down %d times and stopped them %d times, the last: %s", l.Delays, l.Stops, last.Text).
					because("%s/LOG", last.Database).
					then("writes outran compaction: a restore does it too, and takes longer").
					do("look at sstool inspect levels; more background jobs or larger memtables in the rocksdb.config.setter")
			}
		}
	}
	if len(r.findings) == 0 {
		r.ok("", "no errors in %d LOG files (Kafka Streams lets RocksDB write errors only)", read)
	}
}

// leftovers says that what a clean-up leaves does no harm.
func leftovers(f *facts, r *report) {
	for _, a := range f.apps() {
		if a.ID != "" && len(a.Tasks) == 0 {
			r.ok(a.ID, "the application's directory holds no task: empty (left by a clean-up), harmless").because("%s", a.Dir)
		}
	}
	for _, t := range f.lyingTasks() {
		if len(t.stores) == 0 && len(t.task.Others) == 0 {
			r.ok(f.name(t), "the task's directory holds no store: empty (left by a clean-up), harmless").because("%s", t.task.Dir)
		}
	}
}
