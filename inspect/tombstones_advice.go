package inspect

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"sstool/internal/lsm"
	"sstool/internal/streams"
)

// When advice is given: below these shares nobody has a problem.
const (
	worthCompacting = 0.05 // of the files' bytes
	worthMentioning = 0.01 // tombstones of the entries
	worthAStall     = 10_000
	worthADay       = 1000 // tombstones at all
)

// advise names what can be done, and what the figures are not.
func (t *Tombstones) advise() {
	if t.Total.Tombstones >= worthADay {
		t.adviseCompact()
		t.advisePeriodic()
	}
	if t.Obsolete.Files > 0 {
		period := "delete_obsolete_files_period_micros (6 hours unless set)"
		if t.Obsolete.Period != nil {
			period = fmt.Sprintf("delete_obsolete_files_period_micros (%s)", span(*t.Obsolete.Period/1e6))
		}
		t.Advice = append(t.Advice, Advice{
			Option: "delete_obsolete_files_period_micros",
			Text: fmt.Sprintf("%d files on disk are not live: RocksDB is writing them, or deletes them once no iterator of the application reads them any more, by a search every %s, and whenever the store is opened",
				t.Obsolete.Files, period),
		})
	}
	if len(t.Dense) > 0 && t.Dense[0].Entries >= worthAStall {
		d := &t.Dense[0]
		t.Advice = append(t.Advice, Advice{
			Option: "range scans",
			Text:   fmt.Sprintf("an iterator that comes to key %s passes %d dead entries (%d deleted keys) before it finds a row: begin scans behind them, or compact", d.First.Text, d.Entries, d.Keys),
			Stores: []string{storeName(&d.Place)},
		})
	}
	t.Notes = append(t.Notes, "these are RocksDB's delete entries: null records in a changelog (sstool inspect changelog) are another thing, and so are the rows of a versioned store that say \"deleted\" (sstool get --history)")
	if slices.ContainsFunc(t.Stores, func(s StoreTombstones) bool { return s.StoreKind == string(streams.Versioned) }) {
		t.Notes = append(t.Notes, "a versioned store's deleted versions are rows and not counted; its range deletes drop expired segments")
	}
	if t.Total.Tombstones == 0 {
		return
	}
	t.Notes = append(t.Notes, "ages are those of the files, from when each was made: a delete is at least as old, and a compaction makes it look younger")
}

// adviseCompact says what a compaction would free.
func (t *Tombstones) adviseCompact() {
	if t.Total.ReclaimDisk == nil || t.Total.Size == 0 || float64(*t.Total.ReclaimDisk) < worthCompacting*float64(t.Total.Size) {
		return
	}
	about := "frees about"
	if t.Total.Estimated != "" {
		about = "may free"
	}
	share := 100 * float64(*t.Total.ReclaimDisk) / float64(t.Total.Size)
	t.Advice = append(t.Advice, Advice{
		Option: "sstool compact",
		Text:   fmt.Sprintf("compacting everything %s %.0f %% of the files' bytes, while the application is stopped", about, share),
		Stores: t.worst(func(s *StoreTombstones) float64 {
			if s.ReclaimDisk == nil {
				return 0
			}
			return float64(*s.ReclaimDisk)
		}),
	})
}

// advisePeriodic says when RocksDB drops tombstones by itself, by the options
// that the stores with many were opened with.
func (t *Tombstones) advisePeriodic() {
	values := map[int64]int64{}
	for i := range t.Families {
		f := &t.Families[i]
		if f.Periodic != nil && !isOffsets(f.Family) && f.Share >= worthMentioning {
			values[*f.Periodic] += f.Tombstones
		}
	}
	var order []int64
	for v := range values {
		order = append(order, v)
	}
	slices.SortFunc(order, func(a, b int64) int { return cmp.Compare(values[b], values[a]) })
	for _, v := range order {
		text := "is 0, never: a tombstone stays until enough new data was written above it; a RocksDBConfigSetter can set it (setPeriodicCompactionSeconds)"
		if v > 0 {
			text = fmt.Sprintf("is %s: only at that age RocksDB rewrites a file that nothing else compacts, so a tombstone may stay as long; a RocksDBConfigSetter can set less (setPeriodicCompactionSeconds), at the price of more writing", span(v))
		}
		t.Advice = append(t.Advice, Advice{
			Option: "periodic_compaction_seconds", Text: text,
			Stores: t.worst(func(s *StoreTombstones) float64 {
				if s.Share < worthMentioning || !s.periodic[v] {
					return 0
				}
				return float64(s.Tombstones)
			}),
		})
	}
}

// worst names up to three stores with the largest figure above 0.
func (t *Tombstones) worst(of func(*StoreTombstones) float64) []string {
	order := slices.Clone(t.Stores)
	slices.SortStableFunc(order, func(a, b StoreTombstones) int { return cmp.Compare(of(&b), of(&a)) })
	var out []string
	for i := range order[:min(3, len(order))] {
		if s := &order[i]; of(s) > 0 {
			out = append(out, storeName(&Place{Task: s.Task, Store: s.Store, Database: s.Database}))
		}
	}
	return out
}

// span is a time in seconds as a person sets it.
func span(seconds int64) string {
	switch {
	case seconds%86400 == 0:
		return fmt.Sprintf("%d days", seconds/86400)
	case seconds%3600 == 0:
		return fmt.Sprintf("%d hours", seconds/3600)
	}
	return fmt.Sprintf("%d seconds", seconds)
}

// storeName names a store by task and name, or by its directory.
func storeName(p *Place) string {
	if p.Store == "" {
		return p.Database
	}
	if p.Task == "" {
		return p.Store
	}
	return p.Task + " " + p.Store
}

// number is an option of the database as a whole.
func number(o *lsm.Options, name string) (int64, bool) {
	if o == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(o.DB[name], 10, 64)
	return n, err == nil
}

// orphanBytes are those of the files that no MANIFEST names.
func orphanBytes(db *lsm.DB) (sum int64) {
	for _, name := range db.Orphans {
		if st, err := os.Stat(filepath.Join(db.Dir, name)); err == nil {
			sum += st.Size()
		}
	}
	return sum
}
