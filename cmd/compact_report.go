package cmd

import (
	"sstool/migrate"
)

func renderCompactPlan(w *tableWriter, p migrate.CompactPlan) {
	w.line("Plan: compact %d stores. Nothing is changed.", len(p.Stores))
	w.line("")
	var rows [][]string
	for _, s := range p.Stores {
		for _, d := range s.Databases {
			rows = append(rows, []string{s.Task, s.Store, d.Dir, w.count(int64(d.Before.Files)), w.bytes(d.Before.Bytes), w.count(d.Before.Entries), w.count(d.Before.Tombstones + d.Before.RangeTombstones)})
		}
	}
	w.table([]column{{name: "TASK"}, {name: "STORE"}, {name: "DATABASE", wide: true}, {name: "FILES", right: true}, {name: "BYTES", right: true},
		{name: "ENTRIES", right: true}, {name: "TOMBSTONES", right: true}}, rows)
	if w.machine() {
		return
	}
	w.line("")
	for _, s := range p.Steps() {
		w.line("  %s", printable(s))
	}
	for _, s := range p.Warnings {
		w.line("warning: %s", printable(s))
	}
	if err := p.CheckSpace(); err != nil {
		w.line("warning: it would be refused: %s", printable(err.Error()))
	}
}

func renderCompact(w *tableWriter, r migrate.CompactResult) {
	var rows [][]string
	row := func(task, store, dir string, before migrate.CompactShape, after *migrate.CompactShape, seconds float64) {
		files, bytes, entries, tombs := w.none(), w.none(), w.none(), w.none()
		if after != nil {
			files, bytes, entries, tombs = w.count(int64(after.Files)), w.bytes(after.Bytes), w.count(after.Entries), w.count(after.Tombstones+after.RangeTombstones)
		}
		rows = append(rows, []string{
			task, store, dir, w.count(int64(before.Files)), files, w.bytes(before.Bytes), bytes,
			w.count(before.Entries), entries, w.count(before.Tombstones + before.RangeTombstones), tombs, w.seconds(seconds),
		})
	}
	for _, s := range r.Stores {
		for _, d := range s.Databases {
			row(s.Task, s.Store, d.Dir, d.Before, d.After, d.Seconds)
		}
	}
	if len(rows) > 1 && !w.machine() {
		row("TOTAL", "", "", r.Before, &r.After, r.Seconds)
	}
	w.table([]column{{name: "TASK"}, {name: "STORE"}, {name: "DATABASE", wide: true}, {name: "FILES", right: true}, {name: "FILES AFTER", short: "AFTER", right: true},
		{name: "BYTES", right: true}, {name: "BYTES AFTER", short: "AFTER", right: true}, {name: "ENTRIES", right: true, wide: true}, {name: "ENTRIES AFTER", right: true, wide: true},
		{name: "TOMBSTONES", right: true}, {name: "TOMBSTONES AFTER", short: "AFTER", right: true}, {name: "SECONDS", right: true}}, rows)
	w.line("\n%s before, %s after; verified, written with RocksDB %s.", w.bytes(r.Before.Bytes), w.bytes(r.After.Bytes), printable(r.RocksDB))
}
