package cmd

import (
	"fmt"
	"strings"

	"sstool/migrate"
)

// deletion draws what a run of ttl or tombstone did.
func (w *tableWriter) deletion(r *migrate.DeletionResult) {
	var rows [][]string
	for _, s := range r.Stores {
		for _, p := range s.Partitions {
			last := w.none()
			if p.Last != nil {
				last = w.count(*p.Last)
			}
			verified := "no"
			if p.Verified {
				verified = "yes"
			}
			deletes := int64(0)
			var notes []string
			for _, l := range p.Local {
				deletes += l.Deletes
				notes = append(notes, localNote(&l))
			}
			local := w.none()
			if len(p.Local) > 0 {
				local = w.count(deletes)
			}
			rows = append(rows, []string{s.Store, fmt.Sprint(p.Partition), w.count(p.Tombstones), w.count(p.Earlier), w.count(p.PlannedEnd), last, verified, local, strings.Join(notes, "; ")})
		}
	}
	if len(rows) > 0 || w.machine() {
		w.table([]column{{name: "STORE"}, {name: "PARTITION", short: "PART", right: true}, {name: "TOMBSTONES", right: true}, {name: "EARLIER", right: true}, {name: "FROM", right: true, wide: true},
			{name: "LAST OFFSET", short: "LAST", right: true}, {name: "READ BACK", right: true}, {name: "LOCAL DELETES", short: "LOCAL", right: true}, {name: "OFFSETS", wide: true}}, rows)
	}
	if w.machine() {
		return
	}
	switch {
	case r.Tombstones+r.Earlier == 0:
		w.line("Nothing to delete: no tombstone was written.")
		return
	case r.ContinuedFrom != nil:
		w.line("\nContinued the run of %s: %s tombstones now, %s before; %s read back.", ttlTime(r.ContinuedFrom), humanCount(r.Tombstones), humanCount(r.Earlier), humanCount(r.Verified))
	default:
		w.line("\n%s tombstones written (%s), %s read back.", humanCount(r.Tombstones), humanRate(r.Rate, "tombstones"), humanCount(r.Verified))
	}
	if c := r.Compacted; c != nil {
		w.line("Local stores compacted: %s before, %s after.", w.bytes(c.Before.Bytes), w.bytes(c.After.Bytes))
	}
	if r.LedgerRemaining != "" {
		w.line("The run is not finished: give the same command again. It is noted in %s.", printable(r.LedgerRemaining))
	}
	for _, s := range r.Warnings {
		w.wrapped("warning: ", s)
	}
}

// localNote says what became of the offset of a local store.
func localNote(l *migrate.DeletedLocal) string {
	switch {
	case l.Note != "":
		return l.Task + ": " + l.Note
	case l.After != nil && l.Before != nil:
		return fmt.Sprintf("%s: %d to %d in %s", l.Task, *l.Before, *l.After, l.Home)
	}
	return l.Task
}
