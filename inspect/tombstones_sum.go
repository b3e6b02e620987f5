package inspect

import (
	"cmp"
	"slices"
	"time"

	"sstool/internal/lsm"
)

// total adds up the kinds of one file; bottom says that it is part of the last
// sorted run.
func (c *TombstoneCounts) total(bottom bool) {
	c.Tombstones = c.Deletes + c.SingleDeletes + c.TimestampDeletes + c.RangeDeletes
	if c.AtBottom = ref(0); bottom {
		*c.AtBottom = c.Tombstones
	}
	c.share()
}

func (c *TombstoneCounts) share() {
	c.Share = 0
	if c.Entries > 0 {
		c.Share = float64(c.Tombstones) / float64(c.Entries)
	}
}

// add sums counts; what is unknown in one of them is unknown in the sum.
func (c *TombstoneCounts) add(o *TombstoneCounts) {
	first := c.Files == 0
	c.Files += o.Files
	c.Size += o.Size
	c.Entries += o.Entries
	c.Tombstones += o.Tombstones
	c.Deletes += o.Deletes
	c.SingleDeletes += o.SingleDeletes
	c.TimestampDeletes += o.TimestampDeletes
	c.RangeDeletes += o.RangeDeletes
	c.TombstoneBytes += o.TombstoneBytes
	c.Estimated = cmp.Or(c.Estimated, o.Estimated)
	for _, x := range []struct {
		to   **int64
		from *int64
	}{
		{&c.AtBottom, o.AtBottom}, {&c.ShadowedRows, o.ShadowedRows}, {&c.ShadowedBytes, o.ShadowedBytes}, {&c.SupersededRows, o.SupersededRows},
		{&c.SupersededBytes, o.SupersededBytes}, {&c.ReclaimEntries, o.ReclaimEntries}, {&c.ReclaimBytes, o.ReclaimBytes}, {&c.ReclaimDisk, o.ReclaimDisk},
	} {
		switch {
		case x.from == nil:
			*x.to = nil
		case first:
			*x.to = ref(*x.from)
		case *x.to != nil:
			**x.to += *x.from
		}
	}
	c.share()
}

// levels sums the family's files by level and in all.
func (s *familyScan) levels() {
	o := s.out
	held := o.TombstoneCounts // what only the family as a whole knows
	byLevel := map[int]*LevelTombstones{}
	var sum TombstoneCounts
	for i := range o.FileList {
		f := &o.FileList[i]
		l := byLevel[f.Level]
		if l == nil {
			l = &LevelTombstones{Level: f.Level}
			byLevel[f.Level] = l
		}
		l.add(&f.TombstoneCounts)
		sum.add(&f.TombstoneCounts)
	}
	for _, l := range byLevel {
		o.Levels = append(o.Levels, *l)
	}
	slices.SortFunc(o.Levels, func(a, b LevelTombstones) int { return a.Level - b.Level })
	sum.ShadowedRows, sum.ShadowedBytes = held.ShadowedRows, held.ShadowedBytes
	sum.SupersededRows, sum.SupersededBytes = held.SupersededRows, held.SupersededBytes
	sum.ReclaimEntries, sum.ReclaimBytes = held.ReclaimEntries, held.ReclaimBytes
	if sum.ReclaimBytes == nil && sum.ShadowedBytes != nil {
		sum.ReclaimEntries = ref(sum.Tombstones + *sum.ShadowedRows)
		sum.ReclaimBytes = ref(sum.TombstoneBytes + *sum.ShadowedBytes)
	}
	if sum.ReclaimBytes != nil {
		sum.ReclaimEntries = ref(*sum.ReclaimEntries)
		disk := int64(0)
		if o.rawBytes > 0 {
			disk = int64(float64(sum.Size) * min(1, float64(*sum.ReclaimBytes)/float64(o.rawBytes)))
		}
		sum.ReclaimDisk = &disk
	}
	o.TombstoneCounts = sum
}

// ageSteps are where the ages of files are divided.
var ageSteps = [...]time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour}

// newAges are the groups without a tombstone, the youngest first, the unknown
// last.
func newAges() []TombstoneAge {
	var out []TombstoneAge
	from := int64(0)
	for _, d := range ageSteps {
		to := int64(d.Seconds())
		out = append(out, TombstoneAge{From: ref(from), To: ref(to)})
		from = to
	}
	return append(out, TombstoneAge{From: ref(from)}, TombstoneAge{})
}

// ages groups the family's tombstones by the age of their files.
func (s *familyScan) ages() {
	s.out.Ages = newAges()
	for _, f := range s.out.FileList {
		at := len(s.out.Ages) - 1
		if f.Created != nil {
			at = 0
			for at < len(ageSteps) && s.age(*f.Created) >= ageSteps[at] {
				at++
			}
		}
		s.out.Ages[at].Tombstones += f.Tombstones
	}
}

// add counts the files of a database that no MANIFEST names.
func (o *Obsolete) add(db *lsm.DB) {
	if db.Version == nil || len(db.Orphans) == 0 {
		return
	}
	o.Files += len(db.Orphans)
	o.Bytes += orphanBytes(db)
	if n, ok := number(db.Options, "delete_obsolete_files_period_micros"); ok && o.Period == nil {
		o.Period = &n
	}
}

// sum adds the families up: by store and in all.
func (t *Tombstones) sum(o TombstonesOptions) {
	t.Ages = newAges()
	type key struct{ app, task, store, db string }
	at := map[key]int{}
	seen := map[string]bool{}
	for i := range t.Families {
		f := &t.Families[i]
		k := key{f.Application, f.Task, f.Store, ""}
		if f.Store == "" {
			k.db = f.Database
		}
		j, ok := at[k]
		if !ok {
			j = len(t.Stores)
			at[k] = j
			t.Stores = append(t.Stores, StoreTombstones{Application: f.Application, Task: f.Task, Store: f.Store, StoreKind: f.StoreKind, Database: k.db, periodic: map[int64]bool{}})
		}
		if !seen[f.Database] {
			seen[f.Database] = true
			t.Stores[j].Databases++
		}
		if f.Periodic != nil && !isOffsets(f.Family) {
			t.Stores[j].periodic[*f.Periodic] = true
		}
		t.Stores[j].add(&f.TombstoneCounts)
		t.Total.add(&f.TombstoneCounts)
		for a := range f.Ages {
			t.Ages[a].Tombstones += f.Ages[a].Tombstones
		}
		t.Dense = append(t.Dense, f.Dense...)
	}
	slices.SortStableFunc(t.Dense, func(a, b DenseRange) int { return cmp.Compare(b.Entries, a.Entries) })
	t.Dense = t.Dense[:min(len(t.Dense), o.Ranges)]
}
