package cmd

import (
	"strconv"

	"sstool/migrate"
)

func renderMigrationPlan(w *tableWriter, p migrate.MigrationPlan) {
	switch {
	case p.Completed:
		w.line("This migration is complete (%s). Nothing is left to do.", printable(p.File))
	case p.Resumed:
		w.line("Plan: continue %s of %s. Nothing is changed.", p.Kind, printable(p.OldApp))
	default:
		w.line("Plan: %s of %s. Nothing is changed.", p.Kind, printable(p.OldApp))
	}
	w.line("")
	renderMoves(w, p.Moves)
	renderTopicPlans(w, p)
	w.line("")
	if p.Clone != nil {
		renderClone(w, p.Clone)
		w.line("")
	}
	w.line("Steps:")
	for _, s := range p.Steps {
		mark := " "
		if s.Done {
			mark = "✓"
		}
		w.line("  %s %s", mark, printable(s.Text))
	}
	w.line("")
	if p.Bytes != nil {
		w.line("To copy: up to %s records, %s.", w.count(p.Records), w.bytes(*p.Bytes))
	} else {
		w.line("To copy: up to %s records; how large they are the brokers do not tell.", w.count(p.Records))
	}
	if e := p.Estimate; e != nil {
		w.line("Time: about %s, estimated from %s.", humanSeconds(e.Seconds), printable(e.From))
	}
	if p.SpaceNeeded != nil && p.SpaceFree != nil {
		w.line("Space on the brokers: %s needed in all, %s free where least is.", w.bytes(*p.SpaceNeeded), w.bytes(*p.SpaceFree))
	} else {
		w.line("Space on the brokers: unmeasured: they do not tell.")
	}
	w.line("Migration file: %s", printable(p.File))
	for _, t := range p.Topics {
		for _, acl := range t.ACLs {
			w.line("ACL on an old name: %s", printable(acl))
		}
	}
	for _, s := range p.Subjects {
		w.line("Schema registry's subject of an old name: %s", printable(s))
	}
	for _, s := range p.Warnings {
		w.line("warning: %s", printable(s))
	}
}

// renderMoves shows the stores with their two names.
func renderMoves(w *tableWriter, moves []migrate.StoreMove) {
	var rows [][]string
	for _, m := range moves {
		from, to := m.OldStore, m.NewStore
		if m.OldApp != m.NewApp {
			from, to = m.OldApp+"/"+from, m.NewApp+"/"+to
		}
		sub := w.none()
		if m.OldSub != nil && m.NewSub != nil {
			sub = strconv.Itoa(*m.OldSub)
			if *m.OldSub != *m.NewSub {
				sub += " → " + strconv.Itoa(*m.NewSub)
			}
		}
		rows = append(rows, []string{from, to, sub})
	}
	w.table([]column{{name: "STORE"}, {name: "NEW NAME"}, {name: "SUB-TOPOLOGY"}}, rows)
}

func renderTopicPlans(w *tableWriter, p migrate.MigrationPlan) {
	if len(p.Topics) == 0 {
		return
	}
	w.line("")
	var rows [][]string
	for _, t := range p.Topics {
		records, size := w.count(t.Records), w.none()
		if t.Bytes != nil {
			size = w.bytes(*t.Bytes)
		}
		if t.Drained {
			records, size = "drained", w.none()
		}
		rows = append(rows, []string{t.Old, t.New, string(t.Why), strconv.Itoa(t.PartitionCount), records, size})
	}
	w.table([]column{{name: "TOPIC"}, {name: "NEW TOPIC"}, {name: "WHY", wide: true}, {name: "PARTITIONS", short: "PARTS", right: true},
		{name: "RECORDS AT MOST", short: "RECORDS", right: true}, {name: "BYTES", right: true}}, rows)
}

func renderMigration(w *tableWriter, r migrate.MigrationResult) {
	renderMoves(w, r.Moves)
	if len(r.Copies) > 0 {
		w.line("")
		var rows [][]string
		for _, c := range r.Copies {
			verified := "no"
			switch {
			case c.Verified && len(c.Unmeasured) > 0:
				verified = "records only"
			case c.Verified:
				verified = "yes"
			}
			rows = append(rows, []string{c.Old, c.New, strconv.Itoa(c.Partitions), w.count(c.Records), w.count(c.Keys), verified})
		}
		w.table([]column{{name: "TOPIC"}, {name: "COPY"}, {name: "PARTITIONS", short: "PARTS", right: true}, {name: "RECORDS", right: true},
			{name: "KEYS", right: true}, {name: "VERIFIED"}}, rows)
		for _, c := range r.Copies {
			for _, u := range c.Unmeasured {
				w.line("%s, partition %s: the tables were not compared.", printable(c.Old), printable(u))
			}
		}
	}
	if r.Clone != nil {
		w.line("")
		renderClone(w, r.Clone)
	}
	w.line("")
	if len(r.Steps) == 0 {
		w.line("Nothing has to be copied: the application creates the new topics itself.")
	}
	if r.Completed {
		w.line("Complete. Start the application on the new names; the old ones are as they were.")
		w.line("Migration file, for sstool migrate apply-local on other hosts, finish and abort:")
		w.line("  %s", printable(r.File))
	}
}

func renderEnd(w *tableWriter, p migrate.EndPlan) {
	verb, done := "would be deleted", "Nothing is changed."
	if p.Done {
		verb, done = "deleted", "Done: the migration is "+p.Action+"ed."
		if p.Action == "finish" {
			done = "Done: the migration is finished."
		}
	}
	var rows [][]string
	for _, t := range p.Topics {
		rows = append(rows, []string{t.Name, verb, t.Why})
	}
	for _, t := range p.Kept {
		rows = append(rows, []string{t.Name, "kept", t.Why})
	}
	for _, g := range p.Groups {
		rows = append(rows, []string{g.Name, verb, "group: " + g.Why})
	}
	for _, a := range p.ACLs {
		rows = append(rows, []string{a, verb, "ACL"})
	}
	for _, d := range p.Directories {
		rows = append(rows, []string{d, verb, "directory"})
	}
	if len(rows) > 0 {
		w.table([]column{{name: "NAME"}, {name: "STATE"}, {name: "WHY"}}, rows)
	}
	for _, s := range p.Warnings {
		w.line("warning: %s", printable(s))
	}
	w.line("")
	w.line("%s", done)
}
