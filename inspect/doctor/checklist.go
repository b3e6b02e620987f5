package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/inspect/lint"
	"sstool/internal/human"
	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// checklistChecks are the lines of the practical checklist that are about
// topology and stores. What only a person can judge is for review: unmeasured,
// with what was seen.
func checklistChecks() []Check {
	topo, state := []need{needsTopology}, []need{needsState}
	line := func(id, title string, needs []need, run func(*facts, *report)) Check {
		return Check{ID: id, Area: AreaConfig, Title: title, Checklist: true, needs: needs, run: run}
	}
	return []Check{
		line("config.store-names", "stores and internal topics have meaningful names", topo, rules("C8", "C11", "N1", "N2", "N3", "W1", "W2")),
		line("config.breaking-change", "what changed incompatibly has a new name, or a rename is planned", []need{needsTopology, needsState}, rules("S1", "S2", "C12")),
		line("config.unique-names", "names are unique and begin with the domain", []need{needsTopology, needsID}, uniqueNames),
		{ID: "config.topology", Area: AreaConfig, Title: "the topology starts, and shares nothing by accident", needs: topo, run: rules("C1", "C2", "C3", "C5", "C7", "C10", "T1", "T2")},
		line("config.store-kinds", "each store is of the right kind", state, storeKinds),
		line("config.unbounded", "stores that grow without bounds are cleaned", state, unbounded),
		line("config.periodic-compaction", "periodicCompactionSeconds cleans up after deletions", state, periodicCompaction),
		line("config.obsolete-files", "deleteObsoleteFilesPeriodMicros frees the disk in time", state, obsoleteFiles),
		line("config.bloom-filters", "Bloom filters are there", state, bloomFilters),
		line("config.dedup", "duplicates are dropped by a state store where they matter", nil, dedup),
		line("config.restore-time", "the time of a restore is known and inside the SLA", nil, restoreTime),
	}
}

// rules makes a check of rules of lint.
func rules(ids ...string) func(*facts, *report) {
	return func(f *facts, r *report) {
		for _, x := range f.lintOf(ids...) {
			r.lint(x)
		}
		for _, u := range f.lint.Unchecked {
			if slices.Contains(ids, u.Rule) && u.Rule != "W2" && len(r.findings) == 0 {
				r.unmeasured("", "rule %s of sstool lint: %s", u.Rule, u.Reason)
			}
		}
		if len(r.findings) == 0 {
			a := lint.Application{}
			if len(f.lint.Applications) > 0 {
				a = f.lint.Applications[0]
			}
			r.ok("", "%d stores and %d internal topics: rules %s of sstool lint find nothing", len(a.Stores)+len(a.GlobalStores), len(a.Internal), strings.Join(ids, ", "))
		}
	}
}

// uniqueNames compares ids on the cluster; whether a prefix is that of a
// domain, a person knows.
func uniqueNames(f *facts, r *report) {
	for _, x := range f.lintOf("C4", "C6", "C9") {
		r.lint(x)
	}
	if len(r.findings) > 0 {
		return
	}
	x := r.review("whether %q says whose application it is", f.app)
	if words := strings.FieldsFunc(f.app, func(c rune) bool { return strings.ContainsRune("-._", c) }); len(words) < 2 {
		x.because("it is one word: a domain in front keeps it apart from others (orders.payments)")
	} else {
		x.because("it begins with %q", words[0])
	}
	if len(f.groups) > 0 {
		x.because("none of %d groups of the cluster has an id that this one begins or that begins with it", len(f.groups))
	}
}

// byStore calls fn with the tasks' copies of each store, by name.
func (f *facts) byStore(fn func(name string, copies []*inspect.MapStore)) {
	all := map[string][]*inspect.MapStore{}
	var names []string
	for _, s := range f.stores() {
		if all[s.Name] == nil {
			names = append(names, s.Name)
		}
		all[s.Name] = append(all[s.Name], s)
	}
	slices.Sort(names)
	for _, name := range names {
		fn(name, all[name])
	}
}

func storeKinds(f *facts, r *report) {
	x := r.review("windows for what is counted per time, versioned for as-of joins, key-value with a way to delete for what lives on")
	f.byStore(func(name string, copies []*inspect.MapStore) {
		size, kind := int64(0), "unknown"
		for _, s := range copies {
			size += s.Size
			if s.Kind.Kind != nil {
				kind = *s.Kind.Kind
			}
		}
		x.because("%s: %s, %s in %d tasks", name, kind, human.Bytes(size), len(copies))
	})
}

// From how many rows on a key-value store without any deletion is asked about.
const manyRows = 1_000_000

// unbounded asks about key-value stores that only grew.
func unbounded(f *facts, r *report) {
	looked := 0
	f.byStore(func(name string, copies []*inspect.MapStore) {
		rows, deletes, known := int64(0), int64(0), true
		for _, s := range copies {
			if s.Kind.Kind == nil || !slices.Contains([]streams.Kind{streams.KV, streams.TimestampedKV}, streams.Kind(*s.Kind.Kind)) {
				return
			}
			if s.Keys.Count == nil {
				known = false
				continue
			}
			rows += *s.Keys.Count
			deletes += s.Deletes + s.RangeDels
		}
		looked++
		if !known || rows < manyRows || deletes*1000 > rows {
			return
		}
		r.warn(name, "does anything ever delete rows of it? It has %s and next to no deletions", human.Count(rows)+" rows").
			because("%d deletions on disk; those that compaction has dropped are not seen", deletes).
			then("a key-value store has no retention: it grows with every new key, and with it the changelog and each restore").
			do("sstool ttl --dry-run tells what is old; windows or sessions if rows are of a time; tombstones from the application otherwise").
			do("sstool monitor watches whether the estimated keys grow")
	})
	if len(r.findings) == 0 {
		r.ok("", "%d key-value stores: none with %s rows and more that was never deleted from", looked, human.Count(manyRows))
	}
}

// dataFamilies calls fn with the options of every family that holds rows.
func (f *facts) dataFamilies(fn func(o *dbOptions, family *lsm.FamilyOptions)) {
	for i := range f.options {
		o := &f.options[i]
		for j := range o.Families {
			if o.Families[j].Name != streams.OffsetsFamily {
				fn(o, &o.Families[j])
			}
		}
	}
}

func periodicCompaction(f *facts, r *report) {
	if len(f.options) == 0 {
		r.unmeasured("", "no OPTIONS file could be read")
		return
	}
	off, longest := map[string]bool{}, int64(0)
	f.dataFamilies(func(o *dbOptions, c *lsm.FamilyOptions) {
		// 2⁶⁴-2 means that RocksDB chooses: 30 days with a block-based table.
		n, ok := number(c.CF, "periodic_compaction_seconds")
		switch {
		case ok && n == 0:
			off[o.store.Name] = true
		case ok:
			longest = max(longest, n)
		}
	})
	f.byStore(func(name string, copies []*inspect.MapStore) {
		entries, deletes := int64(0), int64(0)
		for _, s := range copies {
			entries, deletes = entries+s.Entries, deletes+s.Deletes
		}
		many := entries > 10_000 && deletes*10 > entries*3
		switch {
		case off[name]:
			r.warn(name, "periodic_compaction_seconds=0: files that are never merged keep their deletions").
				because("%d deletions of %d entries", deletes, entries).
				then("the disk is not freed, and range queries step over them").do("options.setPeriodicCompactionSeconds in a rocksdb.config.setter; sstool compact does it once, while the application is stopped")
		case many && longest > int64((7*24*time.Hour).Seconds()):
			r.warn(name, "%d %% of the entries are deletions, and files are compacted after %s only", deletes*100/entries, human.Duration(time.Duration(longest)*time.Second)).
				then("the disk is not freed, and range queries step over them").do("options.setPeriodicCompactionSeconds(86400) in a rocksdb.config.setter; sstool compact does it once, while the application is stopped")
		}
	})
	if len(r.findings) == 0 {
		r.ok("", "files are compacted at least every %s; no store has many deletions", human.Duration(time.Duration(longest)*time.Second))
	}
}

func obsoleteFiles(f *facts, r *report) {
	if len(f.options) == 0 {
		r.unmeasured("", "no OPTIONS file could be read")
		return
	}
	longest := int64(0)
	for i := range f.options {
		n, ok := number(f.options[i].DB, "delete_obsolete_files_period_micros")
		if ok {
			longest = max(longest, n)
		}
	}
	d := time.Duration(longest) * time.Microsecond
	if d > 6*time.Hour {
		r.warn("", "delete_obsolete_files_period_micros=%d, %s", longest, human.Duration(d)).
			then("files that compaction has replaced may stay that long").do("options.setDeleteObsoleteFilesPeriodMicros; six hours is RocksDB's default")
		return
	}
	r.ok("", "files that were missed when they became obsolete are looked for every %s", human.Duration(d))
}

func bloomFilters(f *facts, r *report) {
	if len(f.options) == 0 {
		r.unmeasured("", "no OPTIONS file could be read")
		return
	}
	without := map[string]string{}
	f.dataFamilies(func(o *dbOptions, c *lsm.FamilyOptions) {
		if p := c.Table["filter_policy"]; p == "" || p == "nullptr" {
			without[o.store.Name] = o.File
		}
	})
	files, bare := 0, 0
	for i := range f.options {
		o := &f.options[i]
		if kind, ok := filterOf(o.dir); ok {
			files++
			if kind == "" {
				bare++
			}
		}
	}
	for _, name := range sortedKeys(without) {
		r.warn(name, "filter_policy is not set: its files have no Bloom filter").because("%s", without[name]).
			then("each get reads a block of every sorted run, also for keys that are not there").
			do("a rocksdb.config.setter that makes its own BlockBasedTableConfig must setFilterPolicy(new BloomFilter()) again, or change the one of options.tableFormatConfig()")
	}
	if len(r.findings) == 0 {
		r.ok("", "every store has a filter policy").because("of %d files looked at, one a database, %d have a filter", files, files-bare)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// filterOf looks at one SST file of a database.
func filterOf(dir string) (kind string, ok bool) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return "", false
	}
	for _, e := range list {
		if filepath.Ext(e.Name()) != ".sst" {
			continue
		}
		t, err := lsm.OpenTableFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		kind, family := t.Filter().Kind, t.Info().Family
		t.Close()
		if family != streams.OffsetsFamily {
			return kind, true
		}
	}
	return "", false
}

func dedup(f *facts, r *report) {
	x := r.review("whether producers of the input may write a record twice, and a store remembers what was seen")
	if f.topology != nil {
		var names []string
		for _, s := range f.topology.Stores() {
			if n := strings.ToLower(s.Name); strings.Contains(n, "dedup") || strings.Contains(n, "duplicate") || strings.Contains(n, "seen") || strings.Contains(n, "distinct") {
				names = append(names, s.Name)
			}
		}
		if len(names) > 0 {
			x.because("stores whose names say so: %s", inspect.Few(names))
		} else {
			x.because("no store's name says so")
		}
	}
	if g := f.config.get("processing.guarantee"); g != "" {
		x.because("processing.guarantee=%s: it covers this application, not what producers before it repeat", g)
	}
	x.do("a window store over the time in which duplicates come, keyed by the record's id")
}

// restoreTime compares a measured or predicted restore with the SLA.
func restoreTime(f *facts, r *report) {
	took, from := f.o.Restored, f.o.RestoredFrom
	sla := f.o.SLA
	if took <= 0 {
		x := r.unmeasured("", "no measured restore given (--report FILE)").do("sstool restore --measure --application-id ID --bootstrap-server … -o json > measured.json")
		if sla <= 0 {
			x.do("and the time that is allowed: --sla 15m")
		}
		return
	}
	x := func() *finding {
		switch {
		case sla <= 0:
			return r.unmeasured("", "a restore takes %s, but no SLA was given (--sla)", human.Duration(took))
		case took > sla:
			return r.say(op.Wrong, "", "a restore takes %s, the SLA is %s", human.Duration(took), human.Duration(sla)).
				then("an instance that is lost without a standby replica is missing for longer than is allowed").
				do("num.standby.replicas, more partitions and instances, less state (sstool ttl), or a changelog that is compacted more (sstool inspect changelog)")
		case took > sla*8/10:
			return r.warn("", "a restore takes %s, more than 80 %% of the SLA of %s", human.Duration(took), human.Duration(sla)).then("it grows with the state").do("plan now: see sstool restore --measure for the bottleneck")
		}
		return r.ok("", "a restore takes %s, the SLA is %s", human.Duration(took), human.Duration(sla))
	}()
	x.because("%s", from)
}

// Line is a line of the checklist.
type Line struct {
	Check    string       `json:"check"`
	Title    string       `json:"title"`
	Mark     string       `json:"mark"` // x: yes; " ": no; ?: for review, or not measured
	Findings []op.Finding `json:"findings"`
}

// Checklist is the practical checklist of a result.
func (r *Result) Checklist() []Line {
	out := []Line{}
	for _, c := range Checks() {
		if !c.Checklist {
			continue
		}
		l := Line{Check: c.ID, Title: c.Title, Mark: "x", Findings: []op.Finding{}}
		for _, x := range r.Findings {
			if x.ID != c.ID {
				continue
			}
			l.Findings = append(l.Findings, x)
			switch {
			case x.Status.Found():
				l.Mark = " "
			case x.Status == op.Unmeasured && l.Mark == "x":
				l.Mark = "?"
			}
		}
		if len(l.Findings) == 0 {
			l.Mark = "?"
		}
		out = append(out, l)
	}
	return out
}
